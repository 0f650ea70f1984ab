"""What the loader hands to an adapter, and what it expects of one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from fff.catalog import SourceAdapter
from fff.errors import SpecError
from fff.structs import Struct, lazy_pattern
from fff.web.client import WebClient
from fff.web.secrets import Secrets
from fff_sources.document import Document, KeyPath, texts
from fff_sources.http.spec.client import NetworkSpec
from fff_sources.trust import SpecStanding

#: Environment variables that say where a source is; they hold no secrets.
ADDRESS_VARIABLE = lazy_pattern(r"FFF_[A-Z0-9_]+_BASE_URL")


class SourceContext(Struct, frozen=True):
    """Everything a source is made from. Its own part of the spec is `document.data["sources"][name]`."""

    name: str
    document: Document
    environ: Mapping[str, str]
    cwd: Path
    client: WebClient
    #: How far the spec's word goes; None for one that is the user's own or bundled.
    standing: SpecStanding | None = None
    shadows: bool = False  # the bundled source of its name

    def secrets(self, *, escape: Callable[[str], str] | None = None) -> Secrets:
        """What fills the source's references to secrets; one that leads nowhere is named with its place in the spec."""
        return Secrets(
            self.environ,
            self.document.folder,
            self.client.redactor,
            escape=escape,
            place=self._place,
            check=self._check_secret,
        )

    def _check_secret(self, kind: str, name: str) -> None:
        address = kind == "env" and ADDRESS_VARIABLE.fullmatch(name.removesuffix("?"))
        if self.standing is not None and not address:
            self.standing.check_secret(kind, name)

    def check_files(self, network: NetworkSpec | None) -> None:
        """Raises SecretError where the spec may not use files that it names to reach its host."""
        if self.standing is not None and network is not None:
            files = network.ca_bundle, network.client_certificate, network.client_key, network.unix_socket
            for file in filter(None, files):
                self.standing.check_secret("file", file)

    def check_login(self) -> None:
        """Raises SecretError where the spec may not use what `fff login` keeps."""
        if self.standing is not None:
            self.standing.check_login(self.name)

    def warning(self) -> str:
        """What whoever reads the source should know of it."""
        return "" if self.standing is None or not self.shadows else self.standing.shadows(self.name)

    def texts(self) -> list[tuple[KeyPath, str]]:
        """Every text in the source's part of the spec, each with its key path."""
        return list(texts(self.document.data["sources"][self.name], ("sources", self.name)))

    def _place(self, reference: str) -> str:
        paths = (path for path, text in self.texts() if reference in text)
        return self.document.place(next(paths, ("sources", self.name)))


class AdapterFactory(Protocol):
    """What an entry point of the group `fff.sources` names: a class with these two."""

    @classmethod
    def from_spec(cls, context: SourceContext) -> SourceAdapter:
        """The source.

        Sends nothing, resolves no secret. Raises SpecError for the first thing that is wrong.
        """

    @classmethod
    def lint(cls, context: SourceContext) -> list[SpecError]:
        """Everything that is wrong, missing secrets included."""
