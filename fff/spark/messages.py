"""What is told of Spark's messages, and to Spark of ours."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from fff.errors import FFFError, SparkError
from fff.structs import lazy_pattern

_PLAN_OR_PLACE = lazy_pattern(
    r"(?:\.?\s*SQLSTATE: \w+.*|;\s*line \d+ pos \d+.*|\n\s*== SQL.*|\n\s*\n\s*JVM stacktrace:.*)", re.DOTALL
)
#: What gRPC itself says of a call that failed, between the lines about its own state.
_RPC = lazy_pattern(r'details = "(?P<details>.*?)"\n', re.DOTALL)
#: A sentence that advises a setting, which no query can make, or refers to pages of Spark.
_ADVICE = lazy_pattern(r"""\. [A-Z](?:(?!\. ).)*(?:"spark\.[\w.]+"|'https?://)(?:(?!\. ).)*?(?=\. |\.?$)""")
#: Names that Spark has for parts of expressions, and numbers for columns.
_INNER = (
    (lazy_pattern(r"\b(?:lateralAliasReference|outer)\(([\w.`]+)\)"), r"\1"),
    (lazy_pattern(r"\bcommonexpressionref\(\)"), "the value"),
    (lazy_pattern(r"\bnamedlambdavariable\(\)"), "a parameter"),
    (lazy_pattern(r"\b(?:scalarsubquery|listquery)\([^()]*\)"), "a subquery"),
    (lazy_pattern(r"(?<=its class is )org\.apache\.[\w.]*\.(?=[A-Z])"), ""),
)
_OF_PLANS = lazy_pattern(r"\[(?:PIPE_|MISSING_|UNSUPPORTED_|GROUPING_|INVALID_WHERE)")
_NUMBERED = lazy_pattern(r"(?<=\w)#\d+L?\b")
#: In front of a text of which Spark is asked whether it is a query.
_ASKED = "DESCRIBE QUERY "
_UNPARSED = lazy_pattern(
    rf"\[PARSE_SYNTAX_ERROR\].*\(line (?P<line>\d+), pos (?P<pos>\d+)\)\s*== SQL ==\n(?P<asked>{_ASKED})?",
    re.DOTALL,
)
_WORD = lazy_pattern(r"\w+|\S")
_JAVA_CLASS = lazy_pattern(r"^(?:[a-z_][\w$]*\.)+[A-Z][\w$]*: ")


def short(message: str) -> str:
    """Spark's error class and sentence, without the plan, the place in the rewritten SQL, the Java stack and advice that is no help."""
    rpc = _RPC.search(message)
    message = message if rpc is None else rpc["details"]
    text = _JAVA_CLASS.sub("", _PLAN_OR_PLACE.sub("", message.strip())).strip()
    text = _ADVICE.sub("", text.partition("\n")[0])
    for inner, written in _INNER:
        text = inner.sub(written, text)
    return f"Spark: {_NUMBERED.sub('', text) if _OF_PLANS.match(text) else text}"


def locate(error: SparkError, contexts: Iterable[Any], said: str, text: str) -> None:
    """Note which part of its text a query failed at, or at which word Spark's grammar had none any more, where that is told."""
    one = next((one for one in contexts if one.fragment()), None)
    if one is not None:
        error.fragment, error.start, error.given = str(one.fragment()), int(one.startIndex()), text
        return
    told = _UNPARSED.search(said)
    if told is None:
        return
    lines = text.splitlines(keepends=True)
    before = len(_ASKED) if told["line"] == "1" and told["asked"] else 0
    start = sum(map(len, lines[: int(told["line"]) - 1])) + int(told["pos"]) - before
    word = _WORD.match(text, max(start, 0))
    if word is not None:
        error.fragment, error.start, error.given = word[0], start, text


@contextmanager
def one_message() -> Iterator[None]:
    """Errors of FFF reach the job as their message, without the stack of this process, which ends with them."""
    try:
        yield
    except FFFError:
        os.environ["SPARK_HIDE_TRACEBACK"] = "1"
        raise
