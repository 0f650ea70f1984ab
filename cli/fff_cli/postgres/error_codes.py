"""The SQLSTATE of errors, by which clients tell them apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fff.errors import FFFError, QueryError, SourceError, UnsupportedSQL, UsageError
from fff.structs import lazy_pattern
from fff_cli.serve.queries import TooManyQueries


class CodedError(FFFError):
    """An error with a SQLSTATE of its own."""

    def __init__(self, code: str, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.code = code


#: By what a wrong statement is told as.
_STATES = tuple(
    (lazy_pattern(words), state)
    for words, state in (
        (r"\bunknown column\b|UNRESOLVED_COLUMN", "42703"),
        (r"\bunknown table\b|TABLE_OR_VIEW_NOT_FOUND", "42P01"),
        (r"\bis ambiguous\b|AMBIGUOUS_REFERENCE", "42702"),
        (r"\bsyntax error\b|PARSE_SYNTAX_ERROR", "42601"),
        (r"\bunknown function\b|UNRESOLVED_ROUTINE|\btakes .*\barguments?\b|WRONG_NUM_ARGS", "42883"),
        (r"\bneither grouped by\b|\baggregates? cannot\b|MISSING_(AGGREGATION|GROUP_BY)", "42803"),
        (r"DATATYPE_MISMATCH", "42804"),
        (r"(DIVIDE|REMAINDER)_BY_ZERO", "22012"),
        (r"CAST_INVALID_INPUT|CANNOT_PARSE", "22P02"),
        (r"DATETIME_(OVERFLOW|FIELD_OUT_OF_BOUNDS)", "22008"),
        (r"OVERFLOW|NUMERIC_(VALUE_)?OUT_OF", "22003"),
    )
)


def remarks_on(end: Mapping[str, Any], *, parts: bool, cancelled: bool) -> list[str]:
    """What there is to say of an answer that has come. Raises CodedError for one that is not whole, unless `parts` will do."""
    remarks: list[str] = end["warnings"]  # which tell in sentences what is in doubt
    if end["complete"]:
        return remarks
    missing = [f"{one['table']} where {one['predicate']}: {one['reason']}" for one in end["missing"]]
    what = f"the answer is not complete: {end['reason'] or 'something is missing'}"
    if parts:
        return [what, *missing, *remarks]
    late = str(end["reason"]).startswith("the deadline")
    hint = "SET fff.partial = on takes a part for an answer, with a warning"
    raise CodedError("57014" if cancelled or late else "58030", "; ".join([what, *missing[:5]]), hint=hint)


def code_of(error: FFFError) -> str:
    """The SQLSTATE of an error."""
    match error:
        case CodedError():
            return error.code
        case TooManyQueries():
            return "53300"
        case UnsupportedSQL():
            return "0A000"
        case QueryError():
            return next((state for words, state in _STATES if words.search(error.message)), "42000")
        case SourceError():
            return "58030"
        case UsageError():
            return "22023"
        case _:
            return "XX000"
