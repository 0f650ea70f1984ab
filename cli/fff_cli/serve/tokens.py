"""What a token may be, for a server and for those who ask it."""

from __future__ import annotations

import os

from fff.errors import UsageError

TOKEN = "FFF_SERVE_TOKEN"  # noqa: S105 - the name of a variable
_LEAST = 16  # characters


def checked(token: str, where: str) -> str:
    """The token. Raises UsageError, which does not show it, for what nobody could send or anybody could guess."""
    if len(token) < _LEAST or not token.isascii() or not token.isprintable() or " " in token:
        raise UsageError(
            f"the token of {where} is too weak, or has characters that no header can have",
            hint=f"at least {_LEAST} letters and digits, as `openssl rand -hex 24` gives them",
        )
    return token


def token_from(variable: str) -> str | None:
    """The token that a variable has, if any; it is taken away: what this process starts need not know it.

    Raises UsageError as `checked` does.
    """
    token = os.environ.pop(variable, "").strip()
    return checked(token, variable) if token else None
