"""A table's own SELECT query: its parts, and which of its variables keys can bind where they go."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from fff.structs import lazy_pattern

#: Where in a table's query the keys go; a query without it is read in whole, and the keys are joined to its
#: answer.
KEYS = "{keys}"

_PROLOGUE = lazy_pattern(
    r"(?:\s+|#[^\n]*(?:\n|$)|PREFIX\s+[\w.-]*:\s*<[^>]*>|BASE\s+<[^>]*>)*", re.IGNORECASE
)
_WORDS = lazy_pattern(
    r"""(?P<skip><[^<>"{}|^`\\\x00-\x20]*>|\"(?:[^"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|\#[^\n]*)|(?P<alone>\{\s*\{keys\}\s*\})|\{keys\}|[{}()]|[?$]?\w+"""
)
_FROM = lazy_pattern(
    r"""FROM\s*(?:NAMED\s*)?(?:<[^<>"{}|^`\\\x00-\x20]*>|[\w.-]*:[\w.:%-]*)\s*""", re.IGNORECASE
)
#: What stands before braces whose variables keys outside do not bind. Wikidata's labels are made last of all.
_APART = lazy_pattern(r"(?:^| )(?:OPTIONAL|MINUS|EXISTS|SERVICE (?:SILENT )?wikibase label)$", re.IGNORECASE)
#: What stands before braces whose keys, where they hold nothing else, are no keys of what is around.
_BRANCH = lazy_pattern(_APART.pattern.replace("OPTIONAL", "OPTIONAL|UNION"), re.IGNORECASE)


def prologue_of(query: str) -> tuple[str, str]:
    """A query's PREFIX and BASE lines, and the rest of it."""
    match = _PROLOGUE.match(query)
    assert match is not None, "the pattern matches nothing as well"
    return query[: match.end()], query[match.end() :]


def parts_of(query: str) -> tuple[str, str, str]:
    """A query's prologue, its FROM clauses, which no subquery may have, and the rest."""
    own, rest = prologue_of(query)
    clauses: list[str] = []
    kept, end, depth = "", 0, 0
    for match in _words(rest):
        if match[0] == "{" and not depth:
            break
        depth += {"{": 1, "(": 1, "}": -1, ")": -1}.get(match[0], 0)
        is_from = not depth and match.start() >= end and match[0].upper() == "FROM"
        if is_from and (clause := _FROM.match(rest, match.start())) is not None:
            clauses.append(clause[0].strip())
            kept, end = kept + rest[end : match.start()], clause.end()
    return own, " ".join(clauses), kept + rest[end:]


def is_cut(query: str) -> bool:
    """Whether LIMIT or OFFSET stands outside of all braces."""
    depth = 0
    for match in _words(query):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if depth == 0 and match[0].upper() in ("LIMIT", "OFFSET"):
            return True
    return False


@lru_cache(maxsize=256)  # every request asks
def bindable(query: str, *, values: bool = False) -> frozenset[str]:
    """The variables that have their values in the braces around `{keys}`, so that a key there leaves its rows alone.

    Not those that the query computes, or has values for in OPTIONAL or elsewhere. VALUES, unlike a FILTER,
    may stand at the end of the query and in braces of their own, too.
    """
    places: list[set[str]] = []  # of each {keys}, the variables in the braces around it
    groups: list[tuple[set[str], bool, int]] = []  # open braces: variables, whether apart, brackets around
    brackets = 0
    before: list[str] = []
    made: set[str] = set()  # by expressions
    whole: set[str] = set()  # in the outermost braces
    is_over = False
    for match in _words(query):
        is_alone = match["alone"] is not None
        word = KEYS if is_alone else match[0]
        if is_over or (before[-1:] == [KEYS.upper()] and word.upper() == "UNION"):
            places.append(set())  # what stands at the end is not there, or in one branch alone
        if word == "{":
            groups.append((set(), _APART.search(" ".join(before)) is not None, brackets))
            brackets = 0
        elif word == "}" and groups:
            variables, is_apart, brackets = groups.pop()
            if not is_apart and not brackets:
                (groups[-1][0] if groups else whole).update(variables)
        elif word in "()":
            brackets += 1 if word == "(" else -1
        elif word == KEYS:
            is_apart = any(apart or within for _, apart, within in groups)
            if is_alone:
                is_apart |= not (values and groups) or _BRANCH.search(" ".join(before)) is not None
            is_over = not groups
            around = groups[-1][0] if groups else whole if values else set()
            places.append(set() if is_apart else around)
        elif word[0] in "?$" and brackets and before[-1:] == ["AS"]:
            made.add(word[1:])
        elif word[0] in "?$" and groups and not brackets:
            groups[-1][0].add(word[1:])
        before = [*before[-3:], word.upper()]
    return frozenset(set.intersection(*places) - made) if places else frozenset()


def _words(query: str) -> Iterator[re.Match[str]]:
    return (match for match in _WORDS.finditer(query) if match["skip"] is None)
