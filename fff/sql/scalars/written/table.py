"""All functions of what is written in texts, by the nodes of the syntax tree and by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from fff.sql.scalars.coercion import BINARY, NAIVE, STRING, TIMESTAMP
from fff.sql.scalars.functions import applied
from fff.sql.scalars.typed import Typed
from fff.sql.scalars.written import codes, collated, moments, printed, scanned
from fff.sql.syntax.statement import Node, exp

Build = Callable[[Sequence[Typed]], Typed]

#: How a node of the tree is written as a function of Spark: its name, and which parts are its arguments.
NODES: dict[type[Node], tuple[str, tuple[str, ...]]] = {
    exp.Encode: ("encode", ("this", "charset")),
    exp.Decode: ("decode", ("this", "charset")),
    exp.ToBinary: ("to_binary", ("this", "format")),
    exp.ToChar: ("to_char", ("this", "format")),
    exp.Collation: ("collation", ("this",)),
    exp.Elt: ("elt", ("this", "expressions")),
    exp.Space: ("space", ("this",)),
    exp.Format: ("format_string", ("this", "expressions")),
    exp.JSONKeys: ("json_object_keys", ("this", "expression")),
    exp.RegexpExtractAll: ("regexp_extract_all", ("this", "expression", "group")),
    exp.RegexpInstr: ("regexp_instr", ("this", "expression", "group")),
    exp.RegexpSubstr: ("regexp_substr", ("this", "expression")),
    exp.TimestampFromParts: ("make_timestamp", ("year", "month", "day", "hour", "min", "sec")),
}
WRITTEN: Mapping[str, Build] = {
    "encode": codes.charset("encode", STRING, BINARY),
    "decode": codes.charset("decode", BINARY, STRING),
    "to_binary": codes.to_binary("to_binary"),
    "try_to_binary": codes.to_binary("try_to_binary"),
    "to_char": codes.to_char,
    "to_varchar": codes.to_char,
    "mask": codes.mask,
    "collation": collated.collation,
    "is_valid_utf8": codes.is_valid,
    "elt": codes.elt,
    "lpad": codes.padded("lpad"),
    "rpad": codes.padded("rpad"),
    **dict.fromkeys(("validate_utf8", "try_validate_utf8", "make_valid_utf8"), codes.valid_text),
    "format_string": printed.format_string,
    "printf": printed.format_string,
    "regexp_extract_all": scanned.extracted_all,
    "regexp_instr": scanned.place,
    "regexp_substr": scanned.part,
    "to_timestamp_ntz": moments.to_moment("to_timestamp_ntz", NAIVE),
    "to_timestamp_ltz": moments.to_moment("to_timestamp_ltz", TIMESTAMP),
    "try_to_timestamp": moments.to_moment("try_to_timestamp", TIMESTAMP),
    "try_to_date": moments.to_day,
    "make_timestamp": moments.made("make_timestamp", TIMESTAMP),
    "make_timestamp_ltz": moments.made("make_timestamp_ltz", TIMESTAMP),
    "make_timestamp_ntz": moments.made("make_timestamp_ntz", NAIVE),
    "try_make_timestamp": moments.made("try_make_timestamp", TIMESTAMP),
    "try_make_timestamp_ltz": moments.made("try_make_timestamp_ltz", TIMESTAMP),
    "try_make_timestamp_ntz": moments.made("try_make_timestamp_ntz", NAIVE),
}


def called(name: str, args: Sequence[Typed]) -> Typed:
    """A function of its arguments. Raises LeftToSparkError."""
    return collated.plainly(name, args, WRITTEN.get(name) or partial(applied, name))
