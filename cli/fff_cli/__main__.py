"""The process `fff`: from here on Ctrl-C is answered, also while the rest is still being loaded, and its end is at once."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading

from fff_cli.run.descriptors import look
from fff_cli.run.loading import spare_loading


def main() -> None:
    """Entry point of `fff` and of `python -m fff_cli`."""
    look()
    spare_loading()
    if sys.stderr is None:  # it is closed: what is told is lost, and does not end up among the rows
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - until the process ends; pathlib takes long to load
    try:
        from fff_cli.app import run  # noqa: PLC0415 - loading takes long enough for a Ctrl-C

        _leave(run(sys.argv[1:]))
    except KeyboardInterrupt:
        os._exit(130)  # nothing has begun, or everything has ended


# Python's frames lie in pieces of 16 KB, and each call across the end of one takes memory for another and
# gives it back: imports within imports are deep. Behind one frame with much room there is no such end.
main.__code__ = main.__code__.replace(co_stacksize=1 << 15)


def _leave(code: int) -> None:
    """End without taking every module apart; threads, exit handlers and open output come to their end before."""
    with contextlib.suppress(AttributeError, OSError, ValueError):  # then the interpreter does it, and tells
        threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001 - joins what executors run
        atexit._run_exitfuncs()  # noqa: SLF001
        try:
            if sys.stdout is not None:
                sys.stdout.flush()
        except OSError as error:  # a full disk, say
            code = _unwritten(code, error)
        with contextlib.suppress(OSError, ValueError):  # a terminal that is gone is told nothing more
            sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def _unwritten(code: int, error: OSError) -> int:
    """The exit code where the last of the output cannot be written: what was told already is not told again."""
    from fff_cli.output.console import discard_output, tell_unwritten  # noqa: PLC0415 - as above

    discard_output()
    return code if code or isinstance(error, BrokenPipeError) else tell_unwritten(error)


if __name__ == "__main__":
    main()
