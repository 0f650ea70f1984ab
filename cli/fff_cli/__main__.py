"""The process `fff`: from here on Ctrl-C is answered, also while the rest is still being loaded."""

from __future__ import annotations

import os


def main() -> None:
    """Entry point of `fff` and of `python -m fff_cli`."""
    try:
        from fff_cli.app import main as run  # noqa: PLC0415 - loading takes long enough for a Ctrl-C

        run()
    except KeyboardInterrupt:
        os._exit(130)  # nothing has begun, or everything has ended


if __name__ == "__main__":
    main()
