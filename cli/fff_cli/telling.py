"""How a command's errors reach whoever typed it."""

from __future__ import annotations

import traceback
from collections.abc import Callable

from fff.errors import FFFError


def told(run: Callable[[], int], verbose: bool) -> int:
    """The exit code of a command whose errors are told here."""
    try:
        return run()
    except BrokenPipeError:
        from fff_cli.output.console import discard_output  # noqa: PLC0415

        discard_output()
        return 0
    except FFFError as error:
        from fff_cli.run.progress import say_error  # noqa: PLC0415 - loads more than some commands need

        if verbose:
            traceback.print_exc()
        say_error(error)
        return error.exit_code
