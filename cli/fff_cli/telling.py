"""How a command's errors reach whoever typed it."""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable
from typing import Any, NoReturn

from fff.errors import FFFError
from fff_cli.options.shared import typer


def telling(command: Callable[..., int]) -> Callable[..., NoReturn]:
    """A command that ends with the exit code it returns; errors are told, with `verbose` where they come from."""

    @functools.wraps(command)
    def wrapper(**options: Any) -> NoReturn:
        try:
            code = command(**options)
        except BrokenPipeError:
            from fff_cli.output.console import discard_output  # noqa: PLC0415

            discard_output()
            code = 0
        except FFFError as error:
            from fff_cli.run.progress import say_error  # noqa: PLC0415 - loads more than some commands need

            if options.get("verbose"):
                traceback.print_exc()
            say_error(error)
            code = error.exit_code
        raise typer.Exit(code)

    return wrapper
