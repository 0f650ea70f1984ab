"""Types that Spark has not: sqlglot knows those of all systems, and makes of INT8 a TINYINT, of TEXT a STRING."""

from __future__ import annotations

import re
from collections.abc import Callable

from fff.errors import QueryError, Span
from fff.schema import arrow_type
from fff.sql.syntax.statement import Node, SparkParser, exp, identifier_span
from fff.structs import lazy_pattern

#: Words of a type, a blank between them. What stands in angle brackets is looked at by itself.
_SPARKS = lazy_pattern(
    r"(BOOLEAN|TINYINT|BYTE|SMALLINT|SHORT|INT|INTEGER|BIGINT|LONG|FLOAT|REAL|DOUBLE|DATE|BINARY|VOID|VARIANT"
    r"|(STRING|(CHAR|CHARACTER|VARCHAR) \( .* \))( COLLATE .*)?|INTERVAL.*|(DECIMAL|DEC|NUMERIC|TIME)( \( .* \))?"
    r"|(TIMESTAMP|TIMESTAMP_NTZ|TIMESTAMP_LTZ)( \( .* \))?|TIMESTAMP( \( .* \))? WITH(OUT| LOCAL) TIME ZONE"
    r"|(GEOMETRY|GEOGRAPHY) \( .* \)|(ARRAY|MAP|STRUCT) <.*)",
    re.IGNORECASE | re.DOTALL,
)
_WITH_LENGTH = frozenset({"CHAR", "CHARACTER", "VARCHAR"})
_NAIVE = "TIMESTAMP WITHOUT TIME ZONE"
#: Of which there are constants: `DATE '2020-01-01'`.
_OF_CONSTANTS = frozenset({"DATE", "TIME", "TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ", "INTERVAL"})


def worded(parser: SparkParser, read: Callable[[], Node | None]) -> Node | None:
    """A type with its words and their place, of which sqlglot keeps nothing."""
    first = parser._index  # noqa: SLF001 - what such parsers are made of
    made = read()
    tokens = parser._tokens[first : parser._index]  # noqa: SLF001 - what such parsers are made of
    if isinstance(made, exp.DataType) and tokens:
        made.meta["words"] = " ".join(parser.sql[one.start : one.end + 1] for one in tokens)
        made.meta["place"] = (tokens[0].start, tokens[-1].end + 1)
        if isinstance(made.args.get("collate"), exp.Column):  # the name of a collation, which is no column
            made.set("collate", exp.Var(this=made.args["collate"].sql("spark")))
        if made.meta["words"].upper() == _NAIVE:  # which sqlglot takes for TIMESTAMP
            made.set("this", exp.DType.TIMESTAMPNTZ)
    return made


def check_type(text: str, node: Node) -> None:
    """Raises QueryError where a type of a cast is none of Spark's, and for constants of types that have none."""
    if isinstance(node, exp.Cast) and isinstance(node.to, exp.DataType) and "place" in node.to.meta:
        place, words = Span(*node.to.meta["place"]), node.to.meta["words"]
        value = identifier_span(node.this) if isinstance(node.this, exp.Literal) else None
        if value is None or value.start == place.start:  # nor is the L of 5L a word of its own
            value = place
        if value.start > place.start and words.upper() not in _OF_CONSTANTS:
            raise QueryError(
                f"[UNSUPPORTED_TYPED_LITERAL] there are no constants of type {words}",
                sql=text,
                span=place,
                hint=f"write CAST({text[value.start : value.end]} AS {words})",
            )
    if not isinstance(node, exp.DataType) or "place" not in node.meta or _is_suffix(node):
        return
    words = node.meta["words"]
    if _SPARKS.fullmatch(words) is None:
        place = Span(*node.meta["place"])
        message = f"[UNSUPPORTED_DATATYPE] {text[place.start : place.end]} is no type of Spark SQL"
        raise QueryError(message, sql=text, span=place, hint=_hint(words))


def _is_suffix(node: Node) -> bool:
    """Whether this is the letter of `5L`, which sqlglot shows as a cast."""
    return isinstance(node.parent, exp.Cast) and bool(node.parent.meta.get("suffix"))


def _hint(words: str) -> str:
    if words.upper() in _WITH_LENGTH:
        return f"write STRING, or say how long: {words}(10)"
    try:
        arrow_type(words.replace(" ", ""))
    except ValueError as error:
        return str(error).partition("; ")[2]
    return "types are those of Spark SQL, as string, bigint, double"
