"""What the answers of a source depend on, so that those kept of one are never taken for those of another."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from fff.catalog import Table
from fff.web.secrets import Secrets
from fff_sources.adapter import SourceContext
from fff_sources.http.spec.settings import base_url_variable
from fff_sources.http.tables import PlannedTable

#: Parts of a spec that say how answers are come by or shown, and nothing of what is in them.
_CLIENT_ASIDE = frozenset({"rate_limit", "retry", "timeout", "cache", "max_body_mb"})
_SOURCE_ASIDE = frozenset({"client", "tables", "functions", "tests", "description", "cost"})
_TABLE_ASIDE = frozenset({"description", "cost"})


def fingerprint(
    adapter: type,
    context: SourceContext,
    secrets: Secrets,
    table: Table,
    planned: PlannedTable,
    *,
    logins: Sequence[str | None],
) -> bytes:
    """A digest of the source's part of the spec, all secrets filled in, of the logins that it is asked with, and of the table.

    Raises SecretError.
    """
    written = context.document.data["sources"][context.name]
    parts = {
        "adapter": f"{adapter.__module__}.{adapter.__name__}",
        "base_url": context.environ.get(base_url_variable(context.name), ""),
        "client": _without(written.get("client"), _CLIENT_ASIDE),
        "source": _without(written, _SOURCE_ASIDE),
        "spec": _without(_part(written, table), _TABLE_ASIDE),
        "table": table.name,
        "columns": [(field.name, field.type) for field in table.columns],
        "paths": [(name, repr(path)) for name, path in planned.paths.items()],
    }
    if any(login != "" for login in logins):  # which are no part of the spec
        parts["logins"] = list(logins)
    text = json.dumps(secrets.fill_all(parts), sort_keys=True, default=repr)
    return hashlib.blake2b(text.encode(), digest_size=32).digest()


def _without(part: object, aside: frozenset[str]) -> object:
    if not isinstance(part, Mapping):
        return part
    return {name: value for name, value in part.items() if name not in aside}


def _part(written: Mapping[str, Any], table: Table) -> object:
    """What the spec says of a table or a function."""
    parts = written.get("functions" if table.function else "tables")
    return parts.get(table.name) if isinstance(parts, Mapping) else None
