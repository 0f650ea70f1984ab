"""How a command's errors reach whoever typed it."""

from __future__ import annotations

import traceback
from collections.abc import Callable

from fff.errors import FFFError


def told(run: Callable[[], int], verbose: bool) -> int:
    """The exit code of a command whose errors are told here."""
    from fff_cli.output.console import discard_output  # noqa: PLC0415
    from fff_cli.run.progress import say_error  # noqa: PLC0415

    try:
        return run()
    except BrokenPipeError:
        discard_output()
        return 0
    except FFFError as error:
        if verbose:
            traceback.print_exc()
        say_error(error)
        return error.exit_code
