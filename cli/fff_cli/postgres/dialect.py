"""Statements as clients of PostgreSQL write them: its lexical rules, and Spark's SQL in all else.

`"name"` is a name and `'it''s'` a text in which a backslash is a backslash, `$1` a parameter. Spark reads the
first as a text, the second as two, and knows no third. Nothing else is changed but the names of some types.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fff.errors import QueryError, Span
from fff.structs import lazy_pattern

_TOKEN = lazy_pattern(
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
    |(?P<other>::|<>|!=|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_AHEAD = 400  # pieces that one spelling of PostgreSQL's takes at most
_HEX = lazy_pattern(r"'\\x((?:[0-9a-fA-F]{2})*)'")
_SPECIAL = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
#: Types by PostgreSQL's names for them, which Spark knows not or otherwise.
_TYPES = {
    "text": "string", "varchar": "string", "bpchar": "string", "int2": "smallint", "int4": "int", "int8": "bigint",
    "float4": "float", "float8": "double", "bool": "boolean", "bytea": "binary", "timestamptz": "timestamp",
    "char": "string", "character": "string", "uuid": "string",
    **dict.fromkeys(("numeric", "decimal", "dec"), "decimal(38, 18)"),  # which Spark takes for whole numbers
}  # fmt: skip
#: Types of several words, as one.
_LONG_TYPES = {
    ("double", "precision"): "float8",
    ("character", "varying"): "varchar",
    ("timestamp", "with", "time", "zone"): "timestamptz",
}
#: Texts of a length, to which PostgreSQL cuts what is cast and Spark does not; and the end of a CAST.
_LENGTH = lazy_pattern(
    r"((?:varchar|bpchar|char(?:acter(?:\s+varying)?)?)\s*\(\s*(\d+)\s*\))(?!\s*\[)(\s*\))?", re.IGNORECASE
)
#: Words before a bracket that call nothing.
_NO_CALLS = frozenset({
    "all", "and", "any", "as", "between", "by", "case", "distinct", "else", "from", "having", "ilike", "in", "is",
    "like", "not", "on", "or", "select", "some", "then", "using", "when", "where",
})  # fmt: skip
#: Words behind a call, and how many go together: `OVER (`, `WITHIN GROUP (`, `IGNORE NULLS`.
_BEHIND = {"filter": 1, "over": 1, "group": 2, "nulls": 2}
#: Literals and types of several pieces, where a text is `'`; and numbers, each digit of which is a piece.
_AS_ONE = lazy_pattern(
    r"(?<!\S)(?:(?:date|time|timestamp(?:_[ln]tz)?|interval|x) '|interval ' \w+(?: to \w+)?"
    r"|timestamp without time zone|" + "|".join(map(" ".join, _LONG_TYPES)) + r")\Z"
)
_NUMBER = lazy_pattern(r"(?<![\w.$])(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:e[+-]?\d+)?\Z", re.IGNORECASE)
#: What only PostgreSQL's own tables answer, and its own functions, whose names may be columns elsewhere.
_CATALOG = lazy_pattern(
    r"pg_\w+|information_schema|current_(schema|database|catalog|role)|reg(class|type)", re.IGNORECASE
)
_CATALOG_FUNCTIONS = lazy_pattern(
    r"current_(schemas?|database|setting)|set_config|version|(obj|col|shobj)_description|has_\w+_privilege|quote_(ident|literal)|to_reg\w+|format_type",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Token:
    """A piece of a statement, with its place."""

    kind: str
    text: str
    start: int


@dataclass(frozen=True)
class Written:
    """The value of a parameter as Spark's SQL writes it, which takes none of its type."""

    sql: str


@dataclass(frozen=True)
class Translated:
    """A statement in Spark's lexical rules, its parameters, and where its pieces stood: places there, places in the original.

    `arrays`: the numbers of the parameters whose elements something is compared with, as in `k = ANY($1)`.
    """

    sql: str
    params: Mapping[str, object]
    arrays: frozenset[int]
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
    found = pieces(sql)
    return any(
        _CATALOG.fullmatch(name) or (after.text == "(" and _CATALOG_FUNCTIONS.fullmatch(name))
        for token, after in itertools.pairwise([*found, Token("other", "", len(sql))])
        if token.kind in ("word", "name") and (name := token.text.strip('"'))
    )


def parameters_in(sql: str) -> int:
    """The highest number of a parameter."""
    return max((int(token.text[1:]) for token in tokens(sql) if token.kind == "number"), default=0)


def parameter_name(number: int) -> str:
    """What `$1` is called in Spark's SQL."""
    return f"p_{number}"


def named_number(name: str) -> int:
    """The number of the parameter that is called so there."""
    return int(name.removeprefix("p_"))


def parameter_number(token: Token) -> int:
    """That of `$1`."""
    return int(token.text[1:])


def pieces(sql: str) -> list[Token]:
    """The pieces without spaces and comments. Raises QueryError."""
    return [one for one in tokens(sql) if one.kind not in ("space", "comment")]


def translated(
    sql: str, params: Mapping[str, object] | None = None, elements: Mapping[str, str] | None = None
) -> Translated:
    """A statement in the lexical rules of Spark's SQL, which takes lists of values for no parameters.

    `elements`: what the elements of a parameter are called in Spark's SQL, by its name. Raises QueryError.
    """
    return _Translation(sql, params or {}, elements or {}).done()


class _Translation:
    """A statement on its way."""

    def __init__(self, sql: str, params: Mapping[str, object], elements: Mapping[str, str]) -> None:
        self._sql, self._tokens = sql, list(tokens(sql))
        self._params, self._elements = params, elements
        self._arrays: set[int] = set()
        self._cut: Counter[int] = Counter()  # by the piece that it begins with, how often a text is cut

    def done(self) -> Translated:
        parts: list[tuple[int, str]] = []  # by the place of their first piece
        at, before, called = 0, "", 0
        casts: list[int] = []  # of the open brackets, whose CAST they are
        while at < len(self._tokens):
            token = self._tokens[at]
            cast = casts[-1] if before == "as" and casts else -1
            kind = before == "::" or cast >= 0
            end, written = (
                (self._shortened(at, cast) or self._type(at) if kind else None)
                or self._several(at)
                or (at + 1, self._one(token))
            )
            parts.append((at, written))
            if token.text == "(":
                casts.append(called if before in ("cast", "try_cast") else -1)
            elif casts and self._tokens[end - 1].text == ")" and (token.text == ")" or cast >= 0):
                casts.pop()
            if token.kind not in ("space", "comment"):
                before, called = token.text.lower(), at
            at = end
        text, places = "", []
        for at, written in parts:
            for part in ("left(" * self._cut[at], written):
                places.append((len(text), self._tokens[at].start))
                text += part
        return Translated(text, dict(self._spread()), frozenset(self._arrays), places)

    def _spread(self) -> Iterator[tuple[str, object]]:
        """The parameters, those of lists one by one."""
        for name, value in self._params.items():
            several = (
                zip(_names(name, value), value, strict=True) if isinstance(value, list) else [(name, value)]
            )
            yield from (one for one in several if not isinstance(one[1], Written))

    def _one(self, token: Token) -> str:
        name = parameter_name(parameter_number(token)) if token.kind == "number" else ""
        value = self._params.get(name)
        if isinstance(value, Written):
            return value.sql
        return f"array({_markers(name, value)})" if isinstance(value, list) else _spark(token)

    def _ahead(self, at: int) -> list[tuple[int, Token]]:
        """Some pieces from there on that are no spaces, and where they are."""
        found = ((place, self._tokens[place]) for place in range(at, len(self._tokens)))
        pieces_there = (one for one in found if one[1].kind not in ("space", "comment"))
        return list(itertools.islice(pieces_there, _AHEAD))

    def _type(self, at: int) -> tuple[int, str] | None:
        """A type by PostgreSQL's name."""
        ahead = self._ahead(at)
        texts = tuple(one.text.lower() for _, one in ahead[:4])
        words = next((words for words in _LONG_TYPES if texts[: len(words)] == words), texts[:1])
        written, last = _LONG_TYPES.get(words, self._tokens[at].text), len(words) - 1
        if self._tokens[at].kind != "word":
            return None
        after = [one.text for _, one in ahead[last + 1 : last + 3]]
        name = _TYPES.get(written.lower(), written)
        if after == ["[", "]"]:
            return ahead[last + 2][0] + 1, f"array<{name}>"
        return ahead[last][0] + 1, written if after[:1] == ["("] else name

    def _shortened(self, at: int, cast: int) -> tuple[int, str] | None:
        """A text of a length, in a CAST that begins at a piece or behind `::`."""
        found = _LENGTH.match(self._sql, self._tokens[at].start)
        if found is None or (cast >= 0 and found[3] is None):
            return None
        self._cut[cast if cast >= 0 else self._operand(at)] += 1
        end = found.end(1 if cast < 0 else 3)
        behind = (place for place in range(at, len(self._tokens)) if self._tokens[place].start >= end)
        return next(behind, len(self._tokens)), f"string{')' * (cast >= 0)}, {found[2]})"

    def _operand(self, at: int) -> int:
        """The piece with which that begins which is cast to the type at a place."""
        whole = [-1, *(one for one in range(at) if self._tokens[one].kind not in ("space", "comment"))]
        texts = ["", *(self._tokens[one].text.lower() for one in whole[1:])]
        place = len(whole) - 2  # before the `::`
        while place > 0:
            if (last := texts[place]) in (")", "]"):
                place = _opening(texts, place)
                named = place > 1 and self._tokens[whole[place - 1]].kind in ("word", "name")
                place -= last == "]" or (named and texts[place - 1] not in _NO_CALLS)
            words = 2 if texts[place - 1] == "over" else _BEHIND.get(texts[place], 0)
            if words and texts[max(place - words, 0)] == ")":
                place -= words
                continue
            place = self._begin(whole, texts, place)
            if texts[place - 1] in (".", "::"):
                place -= 2
            elif last != "]" or texts[place] not in (")", "]"):
                break
        return whole[max(place, 0)]

    def _begin(self, whole: Sequence[int], texts: Sequence[str], place: int) -> int:
        """Where the number, the literal, the type or the CASE begins that ends at a place."""
        if texts[place] == "end" and texts[place - 1] != ".":
            return _opening(texts, place, ("case",), ("end",)) or place
        token = self._tokens[whole[place]]
        if number := _NUMBER.search(self._sql, 0, token.start + len(token.text)):
            return next(
                one for one in range(place + 1) if one and self._tokens[whole[one]].start == number.start()
            )
        before = range(max(place - 4, 1), place + 1)
        as_one = _AS_ONE.search(" ".join("'" if self._is_text(whole[one]) else texts[one] for one in before))
        return place - as_one[0].count(" ") if as_one else place

    def _is_text(self, at: int) -> bool:
        return self._tokens[at].kind in ("text", "escaped", "dollar")

    def _several(self, at: int) -> tuple[int, str] | None:
        """What takes several pieces, where there it begins, and where it ends."""
        token = self._tokens[at]
        if token.text in ("=", "<>", "!="):
            return self._membership(self._ahead(at))
        if token.kind == "text" and (bytes_written := _HEX.fullmatch(token.text)):
            ahead = self._ahead(at)[:3]
            if [one.text.lower() for _, one in ahead[1:]] == ["::", "bytea"]:
                return ahead[2][0] + 1, f"X'{bytes_written[1]}'"
        value = self._params.get(parameter_name(parameter_number(token))) if token.kind == "number" else None
        if isinstance(value, Written):  # of the type that is said behind it
            ahead = self._ahead(at)[:3]
            if [one.text.lower() for _, one in ahead[1:]] in (["::", "interval"], ["::", "bytea"]):
                return ahead[2][0] + 1, value.sql
        begins = token.kind == "word" and token.text.lower() in ("offset", "fetch")
        return self._bounds(self._ahead(at)) if begins else None

    def _membership(self, ahead: list[tuple[int, Token]]) -> tuple[int, str] | None:
        """`= ANY($1)` and `<> ALL($1)`, which Spark writes with IN."""
        texts = [one.text.lower() for _, one in ahead]
        words, negated = (("any", "some"), False) if texts[0] == "=" else (("all",), True)
        if len(texts) < 5 or texts[1] not in words or texts[2] != "(":
            return None
        array, close, kind, items = ahead[3][1], 4, "", ""
        if texts[3:5] == ["array", "["] and "]" in texts:
            close = texts.index("]") + 1
            inner = self._tokens[ahead[4][0] + 1 : ahead[close - 1][0]]
            items = "".join(map(self._one, inner)).strip()
        elif array.kind not in ("number", "text"):
            return None
        if texts[close : close + 1] == ["::"] and texts[close + 2 : close + 4] == ["[", "]"]:
            kind, close = _TYPES.get(texts[close + 1], texts[close + 1]), close + 4
        if texts[close : close + 1] != [")"]:
            return None
        items = items or (_nothing(kind) if texts[3] == "array" else self._elements_of(array, kind))
        return ahead[close][0] + 1, f"{'NOT ' * negated}IN ({items})"

    def _elements_of(self, array: Token, kind: str) -> str:
        if array.kind == "text":
            try:
                texts = listed(array.text[1:-1].replace("''", "'"))
            except ValueError as error:
                place = Span(array.start, array.start + len(array.text))
                raise QueryError(str(error), sql=self._sql, span=place) from error
            written = ["NULL" if one is None else _literal(one) for one in texts]
            return ", ".join(f"CAST({one} AS {kind})" if kind else one for one in written) or _nothing(kind)
        number = parameter_number(array)
        self._arrays.add(number)
        name = parameter_name(number)
        value = self._params.get(name)
        if not isinstance(value, list):
            return f":{name}"
        return _markers(name, value) or _nothing(kind or self._elements.get(name, ""))

    @staticmethod
    def _bounds(ahead: list[tuple[int, Token]]) -> tuple[int, str] | None:
        """`OFFSET 2 ROWS FETCH FIRST 3 ROWS ONLY` and `OFFSET 2 LIMIT 3`, of which Spark has `LIMIT 3 OFFSET 2` alone."""
        texts = [*(one.text.lower() for _, one in ahead), "", "", ""]
        found: dict[str, str] = {}
        last = 0
        while texts[last] in ("offset", "limit", "fetch"):
            fetch, begin = texts[last] == "fetch", last + 1
            begin += fetch and texts[begin] in ("first", "next")
            end = _count_end(texts, begin)
            count = _number_of_rows([one for _, one in ahead[begin:end]]) or "1" * (fetch and end == begin)
            end += texts[end] in ("row", "rows")
            if not count or (fetch and texts[end] != "only"):
                break
            found["LIMIT" if fetch else texts[last].upper()] = count
            last = end + fetch
        written = " ".join(f"{word} {found[word]}" for word in ("LIMIT", "OFFSET") if word in found)
        return (ahead[last - 1][0] + 1, written) if found else None


def _opening(
    texts: Sequence[str], place: int, opens: Sequence[str] = ("(", "["), closes: Sequence[str] = (")", "]")
) -> int:
    """Where the bracket opens that closes at a place; 0 if nowhere."""
    depth = 0
    while place > 0:
        depth += (texts[place] in closes) - (texts[place] in opens)
        if not depth:
            break
        place -= 1
    return place


def _count_end(texts: Sequence[str], begin: int) -> int:
    """Where a number of rows ends: `10`, `$1`, `$1::int`, or what stands in brackets."""
    end = begin
    if texts[begin] == "(" and ")" in texts[begin:]:
        return texts.index(")", begin) + 1
    while texts[end].isdecimal() or texts[end].startswith("$"):  # each digit is a piece
        end += 1
    return end + 2 * (end > begin and texts[end] == "::")


def _number_of_rows(written: Sequence[Token]) -> str:
    """A number or a parameter without brackets and casts; nothing where it is anything else."""
    parts = list(
        itertools.takewhile(lambda one: one.text != "::", (one for one in written if one.text not in "()"))
    )
    plain = all(one.text.isdecimal() or one.kind == "number" for one in parts)
    return "".join(map(_spark, parts)) if plain else ""


def listed(text: str) -> list[str | None]:
    """The elements of an array as PostgreSQL writes it: `{1,NULL,"a b"}`. Raises ValueError."""
    if not (text.startswith("{") and text.endswith("}")):
        raise ValueError(f"{text!r} is no array: one is written {{1,2}}")
    items: list[str | None] = []
    at, end = 1, len(text) - 1
    while at < end:
        item, quoted = "", text[at] == '"'
        at += quoted
        while at < end and text[at] != ('"' if quoted else ","):
            if text[at] in "{}" and not quoted:
                raise ValueError("arrays have one dimension here")
            at += text[at] == "\\"
            item += text[at]
            at += 1
        at += quoted
        items.append(item if quoted or item.upper() != "NULL" else None)
        at += 1
    return items


def _names(name: str, values: Sequence[object]) -> list[str]:
    return [f"{name}_{at}" for at, _ in enumerate(values, 1)]


def _markers(name: str, values: Sequence[object]) -> str:
    named = zip(_names(name, values), values, strict=True)
    return ", ".join(value.sql if isinstance(value, Written) else f":{one}" for one, value in named)


def _nothing(kind: str) -> str:
    """No value of a type: what is compared with any of them is so of none."""
    return f"SELECT CAST(NULL AS {kind or 'string'}) WHERE 1 = 0"


def _spark(token: Token) -> str:
    text = token.text
    match token.kind:
        case "name":
            return "`" + text[1:-1].replace('""', '"').replace("`", "``") + "`"
        case "text" | "escaped" | "dollar":
            return _literal(said(token))
        case "number":
            return ":" + parameter_name(int(text[1:]))
    return text


def said(token: Token) -> str:
    """What stands between the quotes of a text."""
    text = token.text
    if token.kind == "text":
        return text[1:-1].replace("''", "'")
    if token.kind == "escaped":
        return re.sub(
            r"\\(.)|''",
            lambda hit: _SPECIAL.get(hit[1], hit[1]) if hit[1] else "'",
            text[2:-1],
            flags=re.DOTALL,
        )
    edge = text.index("$", 1) + 1
    return text[edge:-edge]


def _literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
