"""Statements as clients of PostgreSQL write them: its lexical rules, and Spark's SQL in all else.

`"name"` is a name and `'it''s'` a text in which a backslash is a backslash, `$1` a parameter. Spark reads the
first as a text, the second as two, and knows no third. Nothing else is changed but the names of some types.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fff.errors import QueryError, Span

_TOKEN = re.compile(
    r"""(?P<space>\s+|--[^\n]*)
    |(?P<comment>/\*)
    |(?P<escaped>[eE]'(?:[^'\\]|\\.|'')*')
    |(?P<text>'(?:[^']|'')*')
    |(?P<dollar>\$(?P<tag>(?:[^\W\d]\w*)?)\$.*?\$(?P=tag)\$)
    |(?P<name>"(?:[^"]|"")*")
    |(?P<ticks>`(?:[^`]|``)*`)
    |(?P<number>\$\d+)
    |(?P<word>[^\W\d][\w$]*)
    |(?P<open>['"`])
    |(?P<other>::|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_SPECIAL = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
#: Types by PostgreSQL's names for them, which Spark knows not or otherwise.
_TYPES = {
    "text": "string", "varchar": "string", "bpchar": "string", "int2": "smallint", "int4": "int", "int8": "bigint",
    "float4": "float", "float8": "double", "bool": "boolean", "bytea": "binary", "timestamptz": "timestamp",
}  # fmt: skip
#: What only PostgreSQL's own tables and functions answer.
_CATALOG = re.compile(
    r"pg_\w+|information_schema|current_(schemas?|database|catalog|setting|role)|set_config|version|(obj|col|shobj)_description|has_\w+_privilege|quote_ident|(to_)?reg(class|type)|format_type",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Token:
    """A piece of a statement, with its place."""

    kind: str
    text: str
    start: int


@dataclass(frozen=True)
class Translated:
    """A statement in Spark's lexical rules, and where its pieces stood: places there, places in the original."""

    sql: str
    places: Sequence[tuple[int, int]]

    def place(self, at: int) -> int:
        """Where a character of `sql` stood in the original."""
        here, there = max(((new, old) for new, old in self.places if new <= at), default=(0, 0))
        return there + at - here


def tokens(sql: str) -> Iterator[Token]:
    """The pieces, comments and spaces among them. Raises QueryError where a quote has no end."""
    at = 0
    while at < len(sql):
        match = _TOKEN.match(sql, at)
        assert match is not None, "any character is a token"
        kind, end = str(match.lastgroup), match.end()
        if kind == "tag":
            kind = "dollar"
        if kind == "comment":
            end = _comment_end(sql, at)
        if kind == "open":
            raise QueryError("a quote has no end", sql=sql, span=Span(at, len(sql)))
        yield Token(kind, sql[at:end], at)
        at = end


def _comment_end(sql: str, start: int) -> int:
    """Comments nest."""
    depth = 0
    for match in re.finditer(r"/\*|\*/", sql[start:]):
        depth += 1 if match[0] == "/*" else -1
        if depth == 0:
            return start + match.end()
    raise QueryError("a comment has no end", sql=sql, span=Span(start, len(sql)))


def statements(sql: str) -> list[str]:
    """The statements of a text, without what has none. Raises QueryError."""
    starts = [0, *(token.start + 1 for token in tokens(sql) if token.text == ";"), len(sql) + 1]
    parts = [sql[start : end - 1] for start, end in itertools.pairwise(starts)]
    return [
        part
        for part in parts
        if any(token.kind not in ("space", "comment") and token.text != ";" for token in tokens(part))
    ]


def words(sql: str) -> list[str]:
    """The words of a statement that are in no quotes, in lower case."""
    return [token.text.lower() for token in tokens(sql) if token.kind == "word"]


def asks_the_catalog(sql: str) -> bool:
    """Whether a statement is about PostgreSQL's own tables or functions, and so about no table of a source."""
    return any(
        _CATALOG.fullmatch(token.text.strip('"')) for token in tokens(sql) if token.kind in ("word", "name")
    )


def parameters_in(sql: str) -> int:
    """The highest number of a parameter."""
    return max((int(token.text[1:]) for token in tokens(sql) if token.kind == "number"), default=0)


def parameter_name(number: int) -> str:
    """What `$1` is called in Spark's SQL."""
    return f"p_{number}"


def translated(sql: str) -> Translated:
    """A statement in the lexical rules of Spark's SQL. Raises QueryError."""
    parts: list[str] = []
    places: list[tuple[int, int]] = []
    length = 0
    before = ""
    casts: list[bool] = []  # of the open brackets, whether they are a CAST's
    for token in tokens(sql):
        text = token.text
        kind = before == "::" or (before == "as" and bool(casts) and casts[-1])
        written = _TYPES.get(text.lower(), text) if kind and token.kind == "word" else _spark(token)
        places.append((length, token.start))
        parts.append(written)
        length += len(written)
        if text == "(":
            casts.append(before in ("cast", "try_cast"))
        elif text == ")" and casts:
            casts.pop()
        if token.kind not in ("space", "comment"):
            before = text.lower()
    return Translated("".join(parts), places)


def _spark(token: Token) -> str:
    text = token.text
    match token.kind:
        case "name":
            return "`" + text[1:-1].replace('""', '"').replace("`", "``") + "`"
        case "text":
            return _literal(text[1:-1].replace("''", "'"))
        case "escaped":
            plain = re.sub(
                r"\\(.)|''",
                lambda hit: _SPECIAL.get(hit[1], hit[1]) if hit[1] else "'",
                text[2:-1],
                flags=re.DOTALL,
            )
            return _literal(plain)
        case "dollar":
            edge = text.index("$", 1) + 1
            return _literal(text[edge:-edge])
        case "number":
            return ":" + parameter_name(int(text[1:]))
    return text


def _literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
