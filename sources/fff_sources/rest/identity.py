"""What the answers of a source depend on, so that those kept of one are never taken for those of another."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from fff.catalog import Table
from fff.web.client import WebClient
from fff.web.memory import Memory
from fff.web.secrets import Secrets
from fff_sources.adapter import SourceContext
from fff_sources.rest import spec
from fff_sources.rest.declared import Declared
from fff_sources.rest.plan import Access, PlannedTable
from fff_sources.rest.settings import base_url_variable

#: Parts of a spec that say how answers are come by or shown, and nothing of what is in them.
_CLIENT_ASIDE = frozenset({"rate_limit", "retry", "timeout", "cache", "max_body_mb"})
_SOURCE_ASIDE = frozenset({"client", "tables", "functions", "tests", "description"})
_TABLE_ASIDE = frozenset({"description"})


class Kept(Declared):
    """The part of a source that lets its answers be kept on disk. Implements `Cacheable`."""

    _planned: dict[str, PlannedTable]
    _secrets: Secrets
    _client: WebClient

    def __init__(self, declared: spec.RestSpec, context: SourceContext) -> None:
        super().__init__(declared, context)
        self.spec = declared
        self._memory: Memory | None = None

    def cache_ttl(self) -> float | None:
        """`client.cache.ttl`."""
        return None if self.spec.client.cache is None else self.spec.client.cache.ttl

    def tells_secrets(self, data: bytes) -> bool:
        """Whether the answer repeats what proves who asks."""
        return self._client.redactor.in_data(data)

    def remember(self, memory: Memory) -> None:
        """All that is asked for from now on."""
        self._memory = memory

    def fingerprint(self, table: Table) -> bytes:
        """A digest of the source's part of the spec, all secrets filled in, and of the table. Raises SecretError."""
        written = self._written
        parts = {
            "adapter": f"{type(self).__module__}.{type(self).__name__}",
            "base_url": self._environ.get(base_url_variable(self.name), ""),
            "client": _without(written.get("client"), _CLIENT_ASIDE),
            "source": _without(written, _SOURCE_ASIDE),
            "spec": _without(_part(written, table), _TABLE_ASIDE),
            "table": table.name,
            "columns": [(field.name, field.type) for field in table.columns],
            "paths": [(name, repr(path)) for name, path in self._planned[table.name].paths.items()],
        }
        text = json.dumps(self._secrets.fill_all(parts), sort_keys=True, default=repr)
        return hashlib.blake2b(text.encode(), digest_size=32).digest()

    def reads_whole_records(self, table: Table) -> bool:
        """Unless the columns are part of the question, or one that does not fit costs its record."""
        planned = self._planned[table.name]
        endpoints: list[object] = [one.endpoint for one in planned.table.scans]
        endpoints += [one.endpoint for one in planned.table.lookups]
        accesses = [one for one in endpoints if isinstance(one, Access)]
        named = any(one.words is not None or one.endpoint.select is not None for one in accesses)
        return not named and planned.spec.on_bad_record != "skip"


def _without(part: object, aside: frozenset[str]) -> object:
    if not isinstance(part, Mapping):
        return part
    return {name: value for name, value in part.items() if name not in aside}


def _part(written: Mapping[str, Any], table: Table) -> object:
    """What the spec says of a table or a function."""
    parts = written.get("functions" if table.function else "tables")
    return parts.get(table.name) if isinstance(parts, Mapping) else None
