"""What the loader hands to an adapter, and what it expects of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from fff.catalog import SourceAdapter
from fff.errors import SpecError
from fff.web.client import WebClient
from fff_sources.document import Document


@dataclass(frozen=True)
class SourceContext:
    """Everything a source is made from. Its own part of the spec is `document.data["sources"][name]`."""

    name: str
    document: Document
    environ: Mapping[str, str]
    cwd: Path
    client: WebClient


class AdapterFactory(Protocol):
    """What an entry point of the group `fff.sources` names: a class with these two."""

    @classmethod
    def from_spec(cls, context: SourceContext) -> SourceAdapter:
        """The source. Sends nothing, resolves no secret. Raises SpecError for the first thing that is wrong."""

    @classmethod
    def lint(cls, context: SourceContext) -> list[SpecError]:
        """Everything that is wrong, missing secrets included."""
