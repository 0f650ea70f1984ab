"""Tokens that `fff login` keeps for later runs: a file for each login, for this user's eyes.

Where there is a keyring the tokens are in it, and the file says only that, since keyrings cannot be listed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fff.access.disk.folder import replaced
from fff.errors import SecretError
from fff.structs import Struct
from fff.web.secrets import usable_keyring
from fff_sources.http.response.json import MalformedJSON, decode, encode
from fff_sources.trust import config_folder

_FOLDER = "logins"
_SERVICE = "fff login"  # what keyrings call it


class StoredToken(Struct):
    """What a login gave; `expires_at` in seconds since 1970, None where the token does not end.

    `login` tells one `fff login` from the next, whoever it was: what one has been answered is not another's.
    """

    source: str
    access_token: str = ""
    refresh_token: str | None = None
    expires_at: float | None = None
    account: str | None = None
    in_keyring: bool = False  # and nothing but the source and the account is here
    login: str = ""


class TokenStore:
    """The tokens of one login.

    The file is named by all that the tokens belong to, so that another spec of the same name, with another
    host or token endpoint, does not get them.
    """

    def __init__(self, folder: Path | None, source: str, *belongs_to: str) -> None:
        digest = hashlib.blake2b(json.dumps([source, *belongs_to]).encode(), digest_size=12).hexdigest()
        self.name = f"{source}.{digest}"
        self._file = None if folder is None else folder / f"{self.name}.json"

    def load(self) -> StoredToken | None:
        """What is kept; None where nobody is logged in. Raises SecretError."""
        token = None if self._file is None else _read(self._file)
        if token is None or not token.in_keyring:
            return token
        with self._keyring() as keyring:
            kept = keyring.get_password(_SERVICE, self.name)
        return None if not kept else _decoded(kept.encode())

    def save(self, token: StoredToken) -> None:
        """Keep a token in place of the one before; raises OSError. What a keyring does not take goes to the file."""
        if self._file is None:
            return
        self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if (keyring := usable_keyring()) is not None:
            with contextlib.suppress(keyring.errors.KeyringError):
                keyring.set_password(_SERVICE, self.name, encode(token).decode())
                token = StoredToken(token.source, account=token.account, in_keyring=True)
        replaced(self._file, encode(token))

    def forget(self) -> bool:
        """Log out; whether anybody was logged in. Raises SecretError."""
        token = None if self._file is None else _read(self._file)
        if self._file is None or not self._file.exists():
            return False
        if token is not None and token.in_keyring:
            with self._keyring() as keyring, contextlib.suppress(keyring.errors.PasswordDeleteError):
                keyring.delete_password(_SERVICE, self.name)
        self._file.unlink()
        return True

    @contextlib.contextmanager
    def _keyring(self) -> Iterator[Any]:
        """The keyring that has the tokens. Raises SecretError."""
        hint = "see what it lacks: keyring diagnose; or log in again"
        if (keyring := usable_keyring()) is None:
            raise SecretError("the login is in a keyring, and there is none now", hint=hint)
        try:
            yield keyring
        except keyring.errors.KeyringError as error:
            raise SecretError(f"the keyring cannot be read: {type(error).__name__}", hint=hint) from error


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
        return _decoded(file.read_bytes())
    except OSError:
        return None


def _decoded(text: bytes) -> StoredToken | None:
    try:
        return decode(text, type=StoredToken)
    except MalformedJSON:  # not whole: log in again
        return None
