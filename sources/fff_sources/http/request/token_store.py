"""Tokens that `fff login` keeps for later runs: a file for each login, for this user's eyes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from fff.access.disk.folder import replaced
from fff_sources.http.response.json import MalformedJSON, Struct, decode, encode
from fff_sources.trust import config_folder

_FOLDER = "logins"


class StoredToken(Struct):
    """What a login gave; `expires_at` in seconds since 1970, None where the token does not end."""

    source: str
    access_token: str
    refresh_token: str | None = None
    expires_at: float | None = None


class TokenStore:
    """The tokens of one login.

    The file is named by all that the tokens belong to, so that another spec of the same name, with another
    host or token endpoint, does not get them.
    """

    def __init__(self, folder: Path | None, source: str, *belongs_to: str) -> None:
        digest = hashlib.blake2b(json.dumps([source, *belongs_to]).encode(), digest_size=12).hexdigest()
        self._file = None if folder is None else folder / f"{source}.{digest}.json"

    def load(self) -> StoredToken | None:
        """What is kept; None where nobody is logged in."""
        return None if self._file is None else _read(self._file)

    def save(self, token: StoredToken) -> None:
        """Keep a token in place of the one before; raises OSError."""
        if self._file is None:
            return
        self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        replaced(self._file, encode(token))

    def forget(self) -> bool:
        """Log out; whether anybody was logged in."""
        if self._file is None or not self._file.exists():
            return False
        self._file.unlink()
        return True


def logins_folder(environ: Mapping[str, str]) -> Path | None:
    """Where logins are kept; None where there is no home."""
    config = config_folder(environ)
    return None if config is None else config / _FOLDER


def logged_in(folder: Path | None) -> list[StoredToken]:
    """All that is kept, by source."""
    files = [] if folder is None or not folder.is_dir() else sorted(folder.glob("*.json"))
    return [token for token in map(_read, files) if token is not None]


def _read(file: Path) -> StoredToken | None:
    try:
        return decode(file.read_bytes(), type=StoredToken)
    except (OSError, MalformedJSON):  # not there, or not whole: log in again
        return None
