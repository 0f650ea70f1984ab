"""A source as its part of a spec declares it, whatever model reads that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from fff.errors import SpecError
from fff.web.secrets import Secrets
from fff_sources.adapter import SourceContext
from fff_sources.rest.settings import missing_secrets


class Declared:
    """What makes sources from documents, and tells what is wrong with them. An adapter says how its part is read."""

    def __init__(self, declared: Any, context: SourceContext) -> None:  # noqa: ARG002 - of the adapter's own type
        self.name = context.name
        self._environ = context.environ
        self._written: Mapping[str, Any] = context.document.data["sources"][context.name]

    @classmethod
    def read(cls, context: SourceContext) -> tuple[Any, list[SpecError]]:
        """What the spec declares, where it can be read, and everything that is wrong with it."""
        raise NotImplementedError

    @classmethod
    def from_spec(cls, context: SourceContext) -> Self:
        """The source of a document; raises SpecError for the first thing that is wrong with it."""
        declared, found = cls.read(context)
        if declared is None or found:
            raise _first_of(context, found)
        return cls(declared, context)

    @classmethod
    def lint(cls, context: SourceContext) -> list[SpecError]:
        """Everything that is wrong with the source, secrets that cannot be found included."""
        declared, found = cls.read(context)
        if declared is None:
            return found
        secrets = Secrets(context.environ, context.document.folder, context.client.redactor)
        return found + missing_secrets(context, secrets)


def _first_of(context: SourceContext, found: Sequence[SpecError]) -> SpecError:
    """The first mistake, and a word of those that follow."""
    first = found[0]
    if len(found) > 1:
        more = f"{len(found) - 1} more: fff source lint {context.document.file}"
        first.hint = f"{first.hint}; {more}" if first.hint else more
    return first
