"""What a drafted spec is made of, before it becomes YAML."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from fff.structs import lazy_pattern

_NAME = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]*")
_ODD = lazy_pattern(r"_*[^A-Za-z0-9_]+_*")


@dataclass(frozen=True)
class ColumnDraft:
    """A column; `path` is None where the record's member has the column's name."""

    name: str
    type: str
    path: str | None = None
    note: str = ""  # why somebody should look at it


@dataclass
class LookupDraft:
    """A way to ask for keys. `endpoint` is as in a spec."""

    keys: tuple[str, ...]
    endpoint: dict[str, Any]
    batch: dict[str, Any] | None = None
    note: str = ""


@dataclass
class TableDraft:
    """A table. `key_columns`, `scan` (an endpoint) and `on_status` are as in a spec."""

    name: str
    columns: list[ColumnDraft] = field(default_factory=list)
    description: str = ""
    primary_key: tuple[str, ...] = ()  # a guess, written as a comment, unless the document says so
    key_is_declared: bool = False
    key_columns: list[dict[str, Any]] = field(default_factory=list)
    scan: dict[str, Any] | None = None
    scan_note: str = ""
    lookups: list[LookupDraft] = field(default_factory=list)
    empty_statuses: tuple[int, ...] = ()
    test: str | None = None  # what follows SELECT * FROM source.table
    values: dict[str, list[Any]] = field(default_factory=dict)
    exhaustive: bool = True
    unfinished: str = ""  # what is to be written before it can be asked
    remarks: list[str] = field(default_factory=list)  # written above it, as comments


@dataclass
class SpecDraft:
    """A source, and what its author should look at. Holds no secret."""

    name: str
    base_url: str
    origin: str  # what it was drafted from, as it may be shown
    auth: dict[str, Any] | None = None
    headers: dict[str, str] = field(default_factory=dict)
    params: dict[str, str] = field(default_factory=dict)
    tables: list[TableDraft] = field(default_factory=list)
    unsure: list[str] = field(default_factory=list)
    variables: list[str] = field(default_factory=list)  # environment variables that must be set
    rate_limit: dict[str, Any] = field(default_factory=dict)
    command: str = "fff source init"  # what drafted it


def identifier(text: str, fallback: str = "value") -> str:
    """A name that SQL takes without quotes: letters, digits and _, no digit in front."""
    name = _ODD.sub("_", text).strip("_") or fallback
    return f"_{name}" if name[0].isdigit() else name


def is_source_name(text: str) -> bool:
    """Whether a text can name a source in SQL without quotes."""
    return _NAME.fullmatch(text) is not None


def unique(name: str, taken: Iterable[str]) -> str:
    """The name, with a number where one that differs only in case is taken."""
    lowered = {one.lower() for one in taken}
    candidate, number = name, 2
    while candidate.lower() in lowered:
        candidate, number = f"{name}_{number}", number + 1
    return candidate


def singular(name: str) -> str:
    """`countries` as `country`, `boxes` as `box`, `works` as `work`; good enough to name a key."""
    for ending, instead in (("ies", "y"), ("sses", "ss"), ("xes", "x"), ("ches", "ch"), ("shes", "sh")):
        if name.endswith(ending) and len(name) > len(ending):
            return name[: -len(ending)] + instead
    if name.endswith("s") and not name.endswith(("ss", "us", "is")) and len(name) > 1:
        return name[:-1]
    return name
