"""What is told of Spark's messages, and to Spark of ours."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from fff.errors import FFFError

_PLAN_OR_PLACE = re.compile(
    r"(?:\.?\s*SQLSTATE: \w+.*|;\s*line \d+ pos \d+.*|\n\s*== SQL.*|\n\s*\n\s*JVM stacktrace:.*)", re.DOTALL
)
#: What gRPC itself says of a call that failed, between the lines about its own state.
_RPC = re.compile(r'details = "(?P<details>.*?)"\n', re.DOTALL)
_JAVA_CLASS = re.compile(r"^(?:[a-z_][\w$]*\.)+[A-Z][\w$]*: ")


def short(message: str) -> str:
    """Spark's error class and sentence, without the plan, the place in the rewritten SQL and the Java stack."""
    rpc = _RPC.search(message)
    message = message if rpc is None else rpc["details"]
    text = _JAVA_CLASS.sub("", _PLAN_OR_PLACE.sub("", message.strip())).strip()
    return f"Spark: {text.partition(chr(10))[0]}"


@contextmanager
def one_message() -> Iterator[None]:
    """Errors of FFF reach the job as their message, without the stack of this process, which ends with them."""
    try:
        yield
    except FFFError:
        os.environ["SPARK_HIDE_TRACEBACK"] = "1"
        raise
