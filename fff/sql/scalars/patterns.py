"""LIKE, and functions of regular expressions of which Java's and RE2's meanings agree."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

from fff.dataflow.plan.expressions import Compare, Literal
from fff.sql.scalars.coercion import BOOLEAN, INT, STRING, is_integer
from fff.sql.scalars.typed import LeftToSparkError, Typed, call, folded
from fff.structs import lazy_pattern

#: Letters, digits and marks that mean themselves in every dialect.
_PLAIN = r"[A-Za-z0-9 _\-,:;@#%&=<>!~\"'/]"
#: Digits, parts of words, and other marks with a backslash.
_ESCAPED = r"\\[dw.\-+*?()\[\]{}|^$/\\]"
_ITEM = rf"(?:[A-Za-z0-9 _,:;@#%=<>!~\"'/.](?:-[A-Za-z0-9])?|{_ESCAPED})"
_SET = rf"\[\^?{_ITEM}+-?\]"
_ATOM = rf"(?:{_PLAIN}|{_ESCAPED}|{_SET}|\.)"
_COUNT = r"(?:(?:[*+?]|\{\d{1,3}(?:,\d{0,3})?\})\??)?"
_BRANCH = rf"(?:{_ATOM}{_COUNT})+"
_GROUP = rf"\((?:\?:)?{_BRANCH}(?:\|{_BRANCH})*\)"
_TERMS = rf"(?:(?:{_ATOM}|{_GROUP}){_COUNT})+"
_REGEX = lazy_pattern(rf"\^?{_TERMS}\$?|{_TERMS}(?:\|{_TERMS})+", re.ASCII)
#: What follows a group that is counted: which of its matches it stands for is not the same everywhere.
_COUNTED_GROUP = lazy_pattern(r"(?<!\\)\)[*+{]")
_SPLIT = lazy_pattern(rf"({_SET}|\\.)")
_RANGE = lazy_pattern(r"(?<!\\)(.)-(.)")
_GROUPS = lazy_pattern(r"\((?!\?)")
#: What a point does not match in Java, and where a `$` does.
_NO_LINE_END = r"[^\n\r\x{85}\x{2028}\x{2029}]"
_AT_END = r"(?:\r\n|[\n\r\x{85}\x{2028}\x{2029}])?\z"


def like(text: Typed, pattern: Typed, escape: str = "\\") -> Typed:
    """`text LIKE pattern`; the pattern is a constant.

    Raises:
        LeftToSparkError: the pattern is computed, or Spark refuses it.
    """
    written = _constant(pattern, "LIKE")
    if written is None:
        return _unknown(text)
    shape, words = "", [""]  # the wildcards between words
    characters = iter(written)
    for character in characters:
        if character == escape:
            after = next(characters, "")
            if after not in (escape, "%", "_") or not after:
                raise LeftToSparkError("LIKE with a pattern that Spark refuses")
            words[-1] += after
        elif character in "%_":
            shape += character
            words.append("")
        else:
            words[-1] += character
    if not shape:
        return Typed(folded(Compare("=", text.expr, Literal(words[0], STRING)), BOOLEAN), BOOLEAN)
    if shape == "%" and not words[0]:
        return _tested("endswith", text, words[1])
    if shape == "%" and not words[1]:
        return _tested("startswith", text, words[0])
    if shape == "%%" and not words[0] and not words[2]:
        return _tested("contains", text, words[1])
    regex = re.escape(words[0])
    for wildcard, word in zip(shape, words[1:], strict=True):
        regex += (".*" if wildcard == "%" else ".") + re.escape(word)
    return _tested("matches", text, rf"\A(?s:{regex})\z")


def rlike(text: Typed, pattern: Typed) -> Typed:
    """`text RLIKE pattern`, of a constant pattern that means the same in Java and in RE2.

    Raises:
        LeftToSparkError: any other pattern.
    """
    written = _constant(pattern, "RLIKE")
    if written is None:
        return _unknown(text)
    return _tested("matches", text, _shared(written, "RLIKE"))


def extracted(text: Typed, pattern: Typed, group: Typed) -> Typed:
    """`regexp_extract(text, pattern, group)`. Raises LeftToSparkError."""
    written, number = _constant(pattern, "regexp_extract"), _constant(group, "regexp_extract")
    if written is None or number is None or not number.isdecimal():
        raise LeftToSparkError("regexp_extract(…) of NULL")
    shared = _shared(written, "regexp_extract")
    bare = _SPLIT.sub("", written)
    groups = len(_GROUPS.findall(bare))
    if int(number) > groups:
        constants = ((shared, STRING), (groups, INT), (int(number), INT))
        words = [Typed(Literal(value, kind), kind) for value, kind in constants]
        return call("no_group", [text, *words], STRING, fails=True)
    if _COUNTED_GROUP.search(bare):
        raise LeftToSparkError("regexp_extract(…) of this group")
    regex, ended = shared.removesuffix(_AT_END), _AT_END if shared.endswith(_AT_END) else ""
    count = 0
    named = ["(?P<g0>"]
    for part in _SPLIT.split(regex):
        if part and (part[0] in "[\\"):
            named.append(part)
            continue
        for piece in re.split(r"(\((?!\?))", part):
            count += piece == "("
            named.append(f"(?P<g{count}>" if piece == "(" else piece)
    word = Typed(Literal("".join(named) + ")" + ended, STRING), STRING)
    return call("extracted", [text, word, Typed(Literal(f"g{number}", STRING), STRING)], STRING)


def substituted(text: Typed, pattern: Typed, by: Typed) -> Typed:
    """`regexp_replace(text, pattern, by)`, all matches. Raises LeftToSparkError."""
    written, new = _constant(pattern, "regexp_replace"), _constant(by, "regexp_replace")
    if written is None or new is None or set(new) & set("$\\"):
        raise LeftToSparkError("regexp_replace(…) by parts of what was found")
    shared = _never_empty(written, "regexp_replace")
    return call(
        "substituted", [text, *(Typed(Literal(one, STRING), STRING) for one in (shared, new))], STRING
    )


def counted(text: Typed, pattern: Typed) -> Typed:
    """`regexp_count(text, pattern)`. Raises LeftToSparkError."""
    written = _constant(pattern, "regexp_count")
    if written is None or written.startswith("^"):
        raise LeftToSparkError("regexp_count(…) of NULL")
    word = Typed(Literal(_never_empty(written, "regexp_count"), STRING), STRING)
    return call("counted", [text, word], INT)


def split(text: Typed, pattern: Typed, limit: Typed | None) -> Typed:
    """`split(text, pattern, limit)`. Raises LeftToSparkError."""
    written = _constant(pattern, "split")
    most = -1 if limit is None else limit.expr.value if isinstance(limit.expr, Literal) else None
    if written is None or not isinstance(most, int) or (limit is not None and not is_integer(limit.type)):
        raise LeftToSparkError("split(…) by NULL")
    shared = _never_empty(written, "split")
    if shared.startswith("^"):
        raise LeftToSparkError("split(…) at the beginning")
    args = [text, Typed(Literal(shared, STRING), STRING), Typed(Literal(most, INT), INT)]
    return call("split", args, pa.list_(STRING))


def _shared(written: str, name: str) -> str:
    """A pattern of Java's as one of RE2's. Raises LeftToSparkError where there is none, or it is not sure."""
    bare = [part for part in _SPLIT.split(written) if part]
    ranges = [one for part in bare if part[0] == "[" for one in _RANGE.findall(part)]
    ended = written.endswith("$") and not written.endswith("\\$")
    inverted = any(part.startswith("[^") for part in bare)
    if not _REGEX.fullmatch(written) or any(low > high for low, high in ranges) or (ended and inverted):
        raise LeftToSparkError(f"{name} with a pattern that is not plain")
    regex = "".join(
        part if part[0] in "[\\" else part.replace(".", _NO_LINE_END)
        for part in ([*bare[:-1], bare[-1].removesuffix("$")] if ended else bare)
        if part
    ) + (_AT_END if ended else "")
    try:
        pc.match_substring_regex(pa.array([""]), pattern=regex)
    except pa.ArrowInvalid:
        raise LeftToSparkError(f"{name} with a long pattern") from None
    return regex


def for_python(written: str, name: str) -> str:
    """A pattern of Java's that matches some characters at least, as one of Python's. Raises LeftToSparkError."""
    _never_empty(written, name)
    bare = _SPLIT.sub("", written)
    if _COUNTED_GROUP.search(bare) or written.startswith("^"):
        raise LeftToSparkError(f"{name} with a pattern that is not plain")
    return "".join(
        part if part[0] in "[\\" else part.replace(".", r"[^\n\r\x85\u2028\u2029]")
        for part in _SPLIT.split(written)
        if part
    )


def group_count(written: str) -> int:
    """How many groups a pattern has."""
    return len(_GROUPS.findall(_SPLIT.sub("", written)))


def _never_empty(written: str, name: str) -> str:
    """A pattern that matches some characters at least, wherever it does. Raises LeftToSparkError."""
    shared = _shared(written, name)
    if shared.endswith(_AT_END) or pc.match_substring_regex(pa.array([""]), pattern=shared)[0].as_py():
        raise LeftToSparkError(f"{name} with a pattern that matches nothing")
    return shared


def _constant(pattern: Typed, name: str) -> str | None:
    if not isinstance(pattern.expr, Literal):
        raise LeftToSparkError(f"{name} with a computed pattern")
    return None if pattern.expr.value is None else str(pattern.expr.value)


def _unknown(text: Typed) -> Typed:
    if text.may_fail:
        raise LeftToSparkError("NULL for a pattern")
    return Typed(Literal(None, BOOLEAN), BOOLEAN)


def _tested(name: str, text: Typed, word: str) -> Typed:
    return call(name, [text, Typed(Literal(word, STRING), STRING)], BOOLEAN)
