"""The keys of a lookup, before they are sent: as what values they travel, and which of them requests cannot carry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import quote

import numpy as np
import pyarrow as pa

from fff.catalog import Key, Keys, Table
from fff.quals import Quals
from fff.structs import Struct, field, replace
from fff_sources.http import templates
from fff_sources.http.spec import spec
from fff_sources.http.tables import HttpAccess

#: What to do where one is lacking.
SEPARATE = "declare batch.separator, or leave batch out"


def without_separator(batch: spec.Batch | None, endpoint: spec.Endpoint, key: str) -> str | None:
    """What is wrong where several keys would be one text, and nothing says by what they are told apart in it."""
    if batch is None or batch.separator is not None:
        return None
    named = key in templates.names((endpoint.path or "", endpoint.headers))
    if not named and not templates.amid_text((endpoint.params, endpoint.body), key):
        return None
    return f"needs a separator: {{{key}}} stands in the path, in a header or amid other text"


class Alone(NamedTuple):
    """A key that is asked for by itself, as rows that have it answer it and nothing else does."""

    key: Key
    doubt: str  # why no rows would prove nothing
    filled: bool  # whether rows that do not say whose they are may be taken for its own


class Carried(Struct):
    """How some keys go out."""

    batches: list[list[Key]] = field(default_factory=list)
    alone: list[Alone] = field(default_factory=list)
    never: list[Key] = field(default_factory=list)  # no path has a place for them


def carried(access: HttpAccess, keys: Keys, batch_size: int) -> Carried:
    """Put keys into batches, and aside what cannot be in any."""
    keys_sent = Carried()
    separator = access.batch.separator if access.batch is not None else None
    plain = []
    for key in keys:
        texts = [templates.text_of(value) for value in key]
        odd_in_paths = not all(text.strip(".") for text in texts)  # nothing, or dots alone
        segments = _segments(access, texts) if odd_in_paths else []
        odd = [
            text
            for text in texts[access.shared :]
            if separator is not None and (not text or separator in text)
        ]
        if "" in segments:
            keys_sent.never.append(key)
        elif odd:
            why = f"contains {separator!r}, which separates keys in a request" if odd[0] else "is empty"
            keys_sent.alone.append(Alone(key, f"the key {odd[0]!r} {why}: {_PROVES_NOTHING}", filled=False))
        elif climbing := [text for text in segments if text in (".", "..")]:
            why = f"the key {climbing[0]!r} means another place in a path: {_PROVES_NOTHING}"
            keys_sent.alone.append(Alone(key, why, filled=True))
        else:
            plain.append(key)
    alike: dict[Key, list[Key]] = {}
    for key in plain:
        alike.setdefault(key[: access.shared], []).append(key)
    keys_sent.batches = [
        some[start : start + batch_size]
        for some in alike.values()
        for start in range(0, len(some), batch_size)
    ]
    return keys_sent


def is_plain(access: HttpAccess, key: Key) -> bool:
    """Whether a key goes into a request as any other: nothing about it is odd, for a batch or for a path."""
    separator = None if access.batch is None else access.batch.separator
    for value in key:
        text = templates.text_of(value)
        if not text.strip(".") or (separator is not None and separator in text):
            return False
    return True


_PROVES_NOTHING = "an answer without rows proves nothing"


def _segments(access: HttpAccess, texts: Sequence[str]) -> list[str]:
    """The segments of the path that keys are in."""
    if access.words is not None:
        return []
    values = dict(zip(access.keys, (quote(text, safe="") for text in texts), strict=True))
    parts = (access.endpoint.path or "").partition("?")[0].split("/")
    return [templates.fill_text(part, values) for part in parts if values.keys() & templates.names(part)]


def as_sent(table: Table, names: Sequence[str], keys: Keys) -> Sequence[Key]:
    """The keys with every 32-bit float as the number of fewest digits that reads back as the same."""
    if not [value for key in keys for value in key if isinstance(value, float)]:
        return keys
    short = [_is_single(table, name) for name in names]
    return [
        tuple(shortest(value) if cut else value for value, cut in zip(key, short, strict=True))
        for key in keys
    ]


def quals_as_sent(table: Table, quals: Quals) -> Quals:
    """The qualifiers, with values as keys have them."""
    return tuple(
        replace(qual, value=shortest(qual.value)) if _is_single(table, qual.column) else qual
        for qual in quals
    )


def shortest(value: object) -> object:
    """A 32-bit float as people write it: `0.1`, which as a 64-bit one is 0.10000000149011612."""
    return float(str(np.float32(value))) if isinstance(value, float) else value


def _is_single(table: Table, name: str) -> bool:
    column = table.column(name)
    return column is not None and pa.types.is_float32(column.arrow)
