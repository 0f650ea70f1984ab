"""The version of FFF, which reports tell, and what adds to it; a module of its own, so that whoever tells it imports nothing else of it."""

import re
import sys
from pathlib import Path

__version__ = "0.1.0"


def how_to_install(extra: str) -> str:
    """The command that adds the packages of an extra to where FFF is: pipx and uv keep it in an environment that no pip on the path means."""
    kept = Path(sys.prefix).parts
    if "pipx" not in kept and ("uv" not in kept or "tools" not in kept):
        return f"pip install 'fff[{extra}]'"
    from importlib.metadata import requires  # noqa: PLC0415 - for mistakes alone

    named = (text.partition(";") for text in requires("fff") or ())
    wanted = " ".join(
        f"'{package.strip()}'" for package, _, when in named if re.search(rf"['\"]{extra}['\"]", when)
    )
    return (
        f"pipx inject fff {wanted}"
        if "pipx" in kept
        else f"uv pip install --python {sys.executable} {wanted}"
    )
