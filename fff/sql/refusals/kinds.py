"""Kinds of types, a letter each, and what Spark says of functions and operators over them, as it was asked."""

from __future__ import annotations

from fff.sql.scalars.argument_types import ARGUMENT_TYPES, ON_THE_RIGHT, OPERATORS

#: As Spark's names of types begin. `s` is of columns, `S` of constants, which Spark casts to more types.
LETTERS = (
    *(("boolean", "b"), ("tinyint", "y"), ("smallint", "h"), ("int", "i"), ("bigint", "l"), ("float", "f")),
    *(("double", "d"), ("decimal(", "m"), ("string", "s"), ("binary", "x"), ("date", "t")),
    *(("timestamp", "T"), ("timestamp_ntz", "n"), ("array<", "a"), ("map<", "p"), ("struct<", "r")),
)
WORDS = {letter: name.rstrip("(<") for name, letter in LETTERS} | {"S": "string"}
#: What is no type: refused, one that is not known, and that of NULL.
REFUSED, UNKNOWN, NULL = "!", "?", "v"


def letter_of(name: str) -> str | None:
    """The letter of a type as Spark writes it, if there is one."""
    for start, letter in LETTERS:
        if name == start or (start[-1] in "(<" and name.startswith(start)):
            return letter
    return None


def _read() -> tuple[dict[tuple[str, int], list[str]], dict[tuple[str, int], str]]:
    refused, values = {}, {}
    for entry in ARGUMENT_TYPES.split():
        name, places, value = entry.split(":")
        call = name, places.count("/") + 1
        refused[call] = places.split("/")
        if value != "?":
            values[call] = value
    for outer in (
        "",
        "_outer",
    ):  # which give several columns, so that the type of their values is not asked for
        [kinds] = refused[f"explode{outer}", 1]
        refused[f"posexplode{outer}", 1], refused[f"inline{outer}", 1] = [kinds], [f"{kinds}p"]
    return refused, values


#: By a function's name and its number of arguments: the kinds that are refused in each place, and that of its values.
REFUSED_ARGUMENTS, VALUES = _read()
_OUTCOMES = {(form, left): given for form, left, given in (entry.split(":") for entry in OPERATORS.split())}


def outcome(form: str, left: str, right: str = "") -> str:
    """The kind of what a form makes of one or two kinds; or that it is refused or not known."""
    if {left, right} & {UNKNOWN, NULL}:
        return UNKNOWN
    outcomes = _OUTCOMES[form, left]
    return outcomes[ON_THE_RIGHT.index(right)] if right else outcomes


def taken(form: str, left: str | None, right: str | None) -> bool:
    """Whether a form takes a kind on one side beside any other."""
    return any(outcome(form, left or other, right or other) != REFUSED for other in ON_THE_RIGHT)


#: Pairs of kinds that are never compared.
INCOMPARABLE = frozenset(
    "".join(sorted(left + right))
    for form, left in _OUTCOMES
    for right in ON_THE_RIGHT
    if form == "=" and outcome(form, left, right) == REFUSED
)
