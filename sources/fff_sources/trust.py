"""Whose word a spec is: what one may use that nobody named, and which of those the user has trusted."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fff.access.disk.folder import replaced
from fff.errors import SecretError, SourceError, UsageError
from fff_sources.document import Document

_STORE = "trusted.json"
_VERSION = 1
_OTHERS = 0o022  # may write


def config_folder(environ: Mapping[str, str]) -> Path | None:
    """`$XDG_CONFIG_HOME/fff`, `~/.config/fff` without it; None where there is no home either."""
    base = Path(environ.get("XDG_CONFIG_HOME", ""))
    if not base.is_absolute():  # the specification has relative ones ignored
        home = environ.get("HOME", "")
        if not home:
            return None
        base = Path(home) / ".config"
    return base / "fff"


class TrustStore:
    """The specs that the user has trusted, each by its path and the digest of its bytes. Raises UsageError.

    Args:
        environ: says where it is.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.folder = config_folder(environ)

    def entries(self) -> dict[str, str]:
        """Digests, by path."""
        if self.folder is None:
            return {}
        path = self.folder / _STORE
        try:
            with path.open("rb") as file:
                about = os.fstat(file.fileno())
                text = file.read()
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise self._unusable(path, error.strerror or "cannot be read") from error
        if about.st_uid != os.getuid() or about.st_mode & _OTHERS:
            raise self._unusable(path, "somebody else can write to it")
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise self._unusable(path, "is damaged") from error
        specs = data.get("specs") if isinstance(data, dict) and data.get("version") == _VERSION else None
        if not isinstance(specs, dict) or not all(isinstance(one, str) for one in specs.values()):
            raise self._unusable(path, "is damaged")
        return specs

    def holds(self, document: Document) -> bool:
        """Whether the spec is trusted, as it was read."""
        return bool(document.digest) and self.entries().get(_key(document)) == document.digest

    def add(self, document: Document) -> None:
        """Trust a spec, until it changes."""
        self._write(self.entries() | {_key(document): document.digest})

    def remove(self, path: Path) -> bool:
        """Trust it no longer; whether it was trusted."""
        entries = self.entries()
        if entries.pop(str(path.resolve()), None) is None:
            return False
        self._write(entries)
        return True

    def _write(self, specs: Mapping[str, str]) -> None:
        if self.folder is None:
            raise UsageError(
                "there is no place to remember it: no home folder", hint="set XDG_CONFIG_HOME to a folder"
            )
        path = self.folder / _STORE
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            replaced(path, json.dumps({"version": _VERSION, "specs": dict(specs)}, indent=1).encode())
        except OSError as error:
            raise UsageError(
                f"cannot write {str(path)!r}: {error.strerror}",
                hint="set XDG_CONFIG_HOME to a folder of yours",
            ) from error

    @staticmethod
    def _unusable(path: Path, reason: str) -> UsageError:
        return UsageError(
            f"{path}: {reason}", hint="look at it and remove it; then trust again what is yours to trust"
        )


def _key(document: Document) -> str:
    return str(Path(document.file).resolve())


@dataclass
class SpecStanding:
    """How far the word of a spec goes that is neither bundled nor in the user's own folder.

    `named`: the user has named it, with `-s`, say, else it was found in the working folder.
    """

    document: Document
    store: TrustStore
    named: bool
    _known: bool = field(default=False, init=False, repr=False)  # to be trusted

    @property
    def trusted(self) -> bool:
        """Whether it was trusted, as it was read. Raises UsageError."""
        self._known = self._known or self.store.holds(self.document)
        return self._known

    def check_secret(self, kind: str, name: str) -> None:
        """Raises SecretError where the spec may not use a secret that it names."""
        reference = f"${{{kind}:{name}}}"
        self._check_word(reference)
        if kind == "file" and not self._is_near(name) and not self.trusted:
            places = " and of ".join(map(str, self._near))
            raise SecretError(f"{reference} lies outside of {places}", hint=self._remedy)

    def check_login(self, source: str) -> None:
        """Raises SecretError where the spec may not use what `fff login` keeps."""
        self._check_word(f"the login to {source}")

    def _check_word(self, secret: str) -> None:
        if not self.named and not self.trusted:
            raise SecretError(
                f"{secret} is not given to a spec that nobody has trusted; this one was found in the working folder",
                hint=f"read what it sends, and where to; then {self._remedy} (again when it changes), "
                f"or name it: -s {shlex.quote(self._shown)}",
            )

    def check_table(self, path: str, source: str, table: str) -> None:
        """Raises SourceError where a table may not be a file of this machine that lies there."""
        if not self.named and not self._is_near(path) and not self.trusted:
            raise SourceError(
                f"{path} lies outside of the folder of {self._shown}, which nobody has trusted",
                source=source,
                table=table,
                hint=self._remedy,
            )

    def shadows(self, name: str) -> str:
        """What is said of a source that is called like one of the bundled catalog; nothing where it is known to be."""
        if self.named or self.trusted:
            return ""
        return (
            f"{name} is not the bundled source of that name: {self._shown}, found in the working folder, takes its place"
            f" ({self._remedy})"
        )

    @property
    def _near(self) -> list[Path]:
        """Where files are that are the spec's own, and the user's for FFF."""
        return [self.document.folder.resolve(), *([self.store.folder] if self.store.folder else [])]

    def _is_near(self, name: str) -> bool:
        path = (self.document.folder / Path(name).expanduser()).resolve()  # wherever links lead
        return any(path.is_relative_to(folder.resolve()) for folder in self._near)

    @property
    def _shown(self) -> str:
        path = os.path.relpath(self.document.file)
        return self.document.file if path.startswith("..") else path

    @property
    def _remedy(self) -> str:
        return f"run `fff source trust {shlex.quote(self._shown)}`"
