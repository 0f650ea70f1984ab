"""How a command's errors reach whoever typed it."""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable
from typing import Any

from fff.errors import FFFError


def telling(command: Callable[..., int]) -> Callable[..., int]:
    """A command whose errors are told: a message, with `verbose` where it comes from, and an exit code."""

    @functools.wraps(command)
    def told(**options: Any) -> int:
        try:
            return command(**options)
        except BrokenPipeError:
            from fff_cli.output.console import discard_output  # noqa: PLC0415

            discard_output()
            return 0
        except FFFError as error:
            from fff_cli.run.progress import say_error  # noqa: PLC0415 - loads more than some commands need

            if options.get("verbose"):
                traceback.print_exc()
            say_error(error)
            return error.exit_code

    return told
