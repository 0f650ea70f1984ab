"""Calls of functions and casts: what is refused in them, and the kinds of what they give."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from fff.errors import QueryError
from fff.sql.refusals.types.collected import check_collected, check_lambdas, made_by
from fff.sql.refusals.types.kinds import (
    REFUSED,
    UNKNOWN,
    VALUES,
    WORDS,
    interval_of,
    kind_of,
    letter_of,
    outcome,
    refused_arguments,
)
from fff.sql.refusals.types.references import NotKnownError, Part, References
from fff.sql.syntax.spark_functions import arguments_of
from fff.sql.syntax.statement import TokenType

_TYPES = {"integer": "i", "long": "l", "short": "h", "byte": "y", "real": "f", "dec": "m", "numeric": "m"} | {
    name: letter for letter, name in WORDS.items() if letter != "S"
}
_SUFFIXES = {"l": "l", "s": "h", "y": "y", "d": "d", "f": "f", "bd": "m"}
#: Functions of texts that are of other types where what they are given is.
_PARTS = frozenset({"substring", "substr", "left", "concat", "lpad", "rpad", "reverse"})
_MAKERS = {"map": "p", "struct": "r", "named_struct": "r"}
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "last")
#: Functions whose arguments from one on get one type, with what says which.
_ALIKE = {
    "coalesce": (0, "coalesce"), "nvl": (0, "coalesce"), "ifnull": (0, "coalesce"), "nvl2": (1, "coalesce"),
    "if": (1, "coalesce"), "array": (0, "array"), "greatest": (0, "greatest"), "least": (0, "greatest"),
}  # fmt: skip
#: Functions that take a unit of time first, where they have three arguments.
_OF_UNITS = frozenset(
    {"date_add", "dateadd", "datediff", "date_diff", "timediff", "timestampadd", "timestampdiff"}
)
#: Functions that do so always, and others that do the same.
_UNITS_ONLY = {"timestampadd": "dateadd", "timediff": "datediff", "timestampdiff": "datediff"}
_UNITS = frozenset(
    {
        *("year", "quarter", "month", "week", "day", "dayofyear", "hour", "minute", "second"),
        *("millisecond", "microsecond"),
    }
)
#: Functions whose arguments words part, these words, and those before the first.
_PARTED = frozenset({"extract", "substring", "substr", "overlay", "position", "trim"})
_PARTING = frozenset({"FROM", "FOR", "PLACING", "IN"})
_SIDES = frozenset({"BOTH", "LEADING", "TRAILING"})


class Calls(References):
    """The kinds of calls. All methods raise QueryError for what Spark refuses."""

    @abstractmethod
    def operand(self, at: int, mistakes: list[QueryError] | None = None) -> tuple[str, int]:
        """The kind of what stands before a comparison or a predicate, from a token on, and the token behind it; -1 where that is not known."""

    @abstractmethod
    def combined(self, form: str, left: Part, right: Part, written: str, mistakes: list[QueryError]) -> Part:
        """What an operator makes of two values."""

    def called(self, at: int) -> str:
        """The kind of a call's values, by the token of the function's name."""
        name, spans = self._tokens[at].text.lower(), arguments_of(self._statement, at)
        if name in {"cast", "try_cast"}:
            kind, end = self.value(at + 2)
            return (
                self.cast(name, (kind, at + 2, end), end + 1)[0]
                if self._is(end, (TokenType.ALIAS,))
                else UNKNOWN
            )
        if name in _MAKERS:
            for span in (spans or ())[::2] if name == "named_struct" else ():
                kind = self.whole(*span)[0]
                if kind in WORDS and kind != "S":
                    raise self.mistake("the names of named_struct are constant texts", *span)
            for first in (0, 1) if name == "map" and spans else ():
                self.alike("array", name, [self.whole(*one) for one in (spans or ())[first::2]])
            return _MAKERS[name]
        if spans is None and name in _PARTED:
            parts = self._parted(at)
            self._refused(
                "year" if name == "extract" else name, _moments(parts[1:]) if name == "extract" else parts
            )
            return VALUES.get((name, len(parts)), UNKNOWN)
        if spans is None:
            return VALUES["count", 1] if name == "count" else UNKNOWN
        check_lambdas(self, name, spans)
        parts = [self.whole(*one) for one in spans]
        if name in _UNITS_ONLY or (name in _OF_UNITS and len(parts) == 3):
            self._check_unit(at, spans)
        self._refused(_UNITS_ONLY.get(name, name), parts)
        if name in {"date_part", "datepart"} and parts[:1] and parts[0][0] == "S":
            self._refused("year", _moments(parts[1:]))
        check_collected(self, name, parts)
        if name in _ALIKE:
            start, form = _ALIKE[name]
            kind = self.alike(form, name, parts[start:])
            return "a" if form == "array" else kind
        if name in {"nullif", "equal_null"} and len(parts) == 2:
            mistakes: list[QueryError] = []
            made = self.combined("=", parts[0], parts[1], name, mistakes)[0]
            if mistakes:
                raise mistakes[0]
            return parts[0][0] if name == "nullif" else made
        kinds = {kind for kind, _, _ in (parts if name == "concat" else parts[:1])}
        if name in _PARTS and "s" in kinds and kinds <= {"s", "S"}:  # constants alone would be one
            return "s"
        return VALUES.get((name, len(spans))) or kind_of(made_by(self, name, parts))

    def _refused(self, name: str, parts: Sequence[Part]) -> None:
        """Raises QueryError for an argument of a type that a function never takes."""
        for place, refused in enumerate(refused_arguments(name, len(parts))):
            kind, first, end = parts[place]
            if kind in refused:
                which = (
                    f" as its {_ORDINALS[min(place, len(_ORDINALS) - 1)]} argument" if len(parts) > 1 else ""
                )
                raise self.mistake(f"{name} takes no {WORDS[kind]}{which}", first, end)

    def _check_unit(self, at: int, spans: Sequence[tuple[int, int]]) -> None:
        """Raises QueryError where a call is not of a unit of time and two values."""
        first, end = spans[0] if spans else (at, at + 1)
        token = self._tokens[first]
        unit = token.text.lower() in _UNITS and token.token_type not in {
            TokenType.STRING,
            TokenType.IDENTIFIER,
        }
        if len(spans) != 3 or end != first + 1 or not unit:
            name = self._tokens[at].text.lower()
            raise QueryError(
                f"[INVALID_PARAMETER_VALUE] {name} with three arguments takes a unit of time first, as DAY",
                sql=self._statement.sql,
                span=self._statement.span(first, end),
            )

    def cast(self, form: str, part: Part, at: int) -> tuple[str, int]:
        """The kind of a cast to the type that begins at a token, and the token behind that; -1 where that is not known."""
        if at >= len(self._tokens):
            raise NotKnownError
        kind, first, end = part
        word, behind = self._tokens[at].text.lower(), at + 1
        if form == "cast" and self._tokens[first].token_type is TokenType.NUMBER and word in _SUFFIXES:
            return _SUFFIXES[word], behind
        if word in {"array", "map", "struct"}:
            letter, behind = letter_of(f"{word}<") or UNKNOWN, -1
        elif word == "interval" and behind < len(self._tokens):
            letter, behind = interval_of(self._tokens[behind].text) or UNKNOWN, behind + 1
            if behind < len(self._tokens) and self._tokens[behind].text.upper() == "TO":
                behind += 2
        else:
            letter = _TYPES.get(word, UNKNOWN)
        if self._is(behind, (TokenType.L_PAREN,)):
            behind = self._closing(behind)
        if kind in WORDS and outcome(form, kind, letter) == REFUSED:
            raise self.mistake(f"{WORDS[kind]} is not cast to {WORDS[letter]}", first, end)
        return letter, behind

    def arguments(self, at: int) -> list[tuple[int, int]] | None:
        """The arguments of a call; of one that makes a struct they may have names."""
        if self._tokens[at].text.lower() == "struct":
            return self._listed(at + 1) if self._closing(at + 1) > at + 3 else []
        return arguments_of(self._statement, at)

    def _parted(self, at: int) -> list[Part]:
        """The arguments of a call that words part, as `substring(s FROM 2 FOR 3)`; nothing where they are none."""
        closing, depth = self._closing(at + 1) - 1, self._statement.depths[at] + 1
        first, parts = at + 2 + (self._tokens[at + 2].text.upper() in _SIDES), list[Part]()
        for end in range(first, closing + 1):
            word = self._tokens[end].text.upper() in _PARTING and self._statement.depths[end] == depth
            if (word or end == closing) and first < end:
                mistakes = list[QueryError]()
                kind, behind = self.operand(first, mistakes)
                if mistakes and behind == end:
                    raise mistakes[0]
                parts.append((kind if behind == end else UNKNOWN, first, end))
            first = end + 1 if word else first
        return parts


def _moments(parts: Sequence[Part]) -> list[Part]:
    """What fields are taken out of as years are; intervals have fields of their own."""
    return [(UNKNOWN if kind in "DM" else kind, first, end) for kind, first, end in parts]
