"""Composite literals of Go, read without running anything: what a scanner of tokens can tell, all else opaque."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from fff.structs import lazy_pattern

_TOKEN = lazy_pattern(
    r"""//[^\n]* | /\*(?s:.*?)(?:\*/|\Z) | \s+
    | (?P<text>`[^`]*`? | "(?:\\.|[^"\\\n])*"?)
    | '(?:\\.|[^'\\\n])*'? | (?P<name>[^\W\d]\w*) | \d[\w.]* | \.\.\. | := | .""",
    re.VERBOSE,
)
_PAIRS = {"(": ")", "[": "]", "{": "}"}
_DEEPEST = 60  # levels of an expression


@dataclass(frozen=True)
class GoToken:
    """A word, a mark, or a text (then `value` is what it stands for)."""

    kind: str  # name, text, mark
    value: str


@dataclass
class Composite:
    """`T{a: x, y}`: its type as written without spaces, its fields by name, and its elements."""

    type: str
    fields: dict[str, Expression] = field(default_factory=dict)
    items: list[Expression] = field(default_factory=list)


@dataclass
class GoCall:
    """`of.name(arguments)`; `of` is what the call before it in a chain gives."""

    name: str
    arguments: list[Expression]
    of: Expression | None = None


@dataclass(frozen=True)
class Name:
    """A variable or a constant, with what qualifies it: `proto.ColumnType_INT`."""

    name: str


Expression = Composite | GoCall | Name | str | None  # None: opaque; text: a constant


@dataclass
class GoFunction:
    """A function's parameters, and where its body stands among the tokens."""

    parameters: list[str]
    result: str
    start: int
    end: int


class GoText:
    """The tokens of Go files, and what stands at a place among them."""

    def __init__(self, text: str) -> None:
        self.tokens = list(_tokens(text))
        self.ends = _ends(self.tokens)

    def mark(self, place: int) -> str:
        """The word or mark at a place; empty of a text, and behind the end."""
        if not 0 <= place < len(self.tokens) or self.tokens[place].kind == "text":
            return ""
        return self.tokens[place].value

    def functions(self) -> dict[str, GoFunction]:
        """Every function that is declared by a name, methods left out."""
        found: dict[str, GoFunction] = {}
        for at, token in enumerate(self.tokens):
            if token != GoToken("name", "func") or self.mark(at + 2) != "(":
                continue
            close = self.ends.get(at + 2, at + 2)
            parts = "".join(f"{self.mark(one)} " for one in range(at + 3, close)).split(",")
            body = close + 1
            while body < len(self.tokens) and (
                self.mark(body) != "{" or self.mark(body - 1) in ("interface", "struct")
            ):
                body += 1
                if self.mark(body) == "func":  # one without a body
                    break
            if self.mark(body) == "{":
                result = "".join(map(self.mark, range(close + 1, body)))
                names = [words[0] for words in map(str.split, parts) if words]
                end = self.ends.get(body, len(self.tokens))
                found.setdefault(self.mark(at + 1), GoFunction(names, result, body + 1, end))
        return found

    def expression(self, at: int, deep: int = 0) -> tuple[Expression, int]:
        """The expression at a place, and the place behind it; what is not understood is skipped as a whole."""
        if deep > _DEEPEST:
            return None, at + 1
        if self.mark(at) == "&":
            at += 1
        found, at = self._operand(at, deep)
        while self.mark(at) == "+":
            more, at = self._operand(at + 1, deep)
            found = found + more if isinstance(found, str) and isinstance(more, str) else None
        return found, at

    def _operand(self, at: int, deep: int) -> tuple[Expression, int]:
        if at < len(self.tokens) and self.tokens[at].kind == "text":
            return self.tokens[at].value, at + 1
        began, found = at, None
        kind = ""
        while self.mark(at) in ("*", "[", "map", "func", "interface", "struct"):  # of a type
            if self.mark(at) in ("func", "interface", "struct"):
                return None, self._behind_blocks(at)
            at = self.ends.get(at, at) + 1
            kind = "[]"
        if at < len(self.tokens) and self.tokens[at].kind == "name":
            name, at = self._qualified(at)
            kind, found = kind + name, Name(name)
        if self.mark(at) == "{":
            composite, at = self._composite(kind, at, deep)
            return composite, at
        result: Expression = found
        while self.mark(at) in ("(", ".", "["):
            if self.mark(at) == "(":
                arguments, at = self._arguments(at, deep)
                last = found.name if found is not None else ""
                result, found = GoCall(last, arguments, result if isinstance(result, GoCall) else None), None
            elif self.mark(at) == "[":
                result, found, at = None, None, self.ends.get(at, at) + 1
            else:
                name, at = self._qualified(at + 1)
                found = Name(name)
        return result, max(at, began + 1)

    def _qualified(self, at: int) -> tuple[str, int]:
        """Names with dots between them."""
        parts = [self.mark(at)]
        while self.mark(at + 1) == "." and at + 2 < len(self.tokens) and self.tokens[at + 2].kind == "name":
            at += 2
            parts.append(self.mark(at))
        return ".".join(parts), at + 1

    def _behind_blocks(self, at: int) -> int:
        """Behind a function literal, or a type that is written out."""
        while at < len(self.tokens) and self.mark(at) not in (",", ")", "}", ";"):
            at = self.ends.get(at, at) + 1
        return at

    def _composite(self, kind: str, at: int, deep: int) -> tuple[Composite, int]:
        end, found = self.ends.get(at, len(self.tokens)), Composite(kind)
        at += 1
        while at < end:
            if self.mark(at + 1) == ":" and self.tokens[at].kind == "name":
                name = self.mark(at)
                found.fields[name], at = self.expression(at + 2, deep + 1)
            else:
                value, at = self.expression(at, deep + 1)
                found.items.append(value)
            at = self._next(at, end)
        return found, end + 1

    def _arguments(self, at: int, deep: int) -> tuple[list[Expression], int]:
        end, found = self.ends.get(at, len(self.tokens)), []
        at += 1
        while at < end:
            value, at = self.expression(at, deep + 1)
            found.append(value)
            at = self._next(at, end)
        return found, end + 1

    def _next(self, at: int, end: int) -> int:
        """Behind the next comma of this level."""
        while at < end and self.mark(at) != ",":
            at = self.ends.get(at, at) + 1
        return min(at + 1, end)


def _tokens(text: str) -> Iterator[GoToken]:
    for match in _TOKEN.finditer(text):
        written = match.group()
        if match["text"] is not None:
            yield GoToken("text", _said(written))
        elif match["name"] is not None:
            yield GoToken("name", written)
        elif not written.isspace() and not written.startswith(("//", "/*")):
            yield GoToken("mark", written)


def _said(written: str) -> str:
    """What a literal text stands for."""
    if written.startswith("`"):
        return written.strip("`")
    try:
        return str(json.loads(written, strict=False))
    except ValueError:
        return written.strip('"')


def _ends(tokens: list[GoToken]) -> dict[int, int]:
    """Where each bracket is closed; one that never is has no end."""
    ends: dict[int, int] = {}
    waiting: list[int] = []
    for at, token in enumerate(tokens):
        if token.kind != "mark":
            continue
        if token.value in _PAIRS:
            waiting.append(at)
        elif waiting and _PAIRS[tokens[waiting[-1]].value] == token.value:
            ends[waiting.pop()] = at
    return ends
