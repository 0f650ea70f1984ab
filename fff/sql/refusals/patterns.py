"""Constant patterns of regular expressions that Java certainly refuses: told before the first request.

Spark compiles a pattern once it has rows; one that stands where no row may come to (in CASE, IF and COALESCE, behind AND or OR,
beside WHERE, in a query inside another) is left to it.
"""

from __future__ import annotations

import re

from fff.sql.binder.scopes import QueryTree
from fff.sql.syntax.literals import constant_of
from fff.sql.syntax.statement import Node, exp, identifier_span
from fff.structs import lazy_pattern

_MATCHING = (
    *(exp.RegexpLike, exp.RegexpReplace, exp.RegexpExtract, exp.RegexpExtractAll, exp.RegexpSplit),
    *(exp.RegexpCount, exp.RegexpInstr, exp.RegexpSubstr),
)
_IN_SOME_ROWS = (exp.Case, exp.If, exp.Coalesce)
#: What a pattern is read in. Any other backslash or group may change what follows; of it nothing is said.
_PART = lazy_pattern(
    r"""(?P<class>\[\^?[^]\[\\&]+\])
      | (?P<escaped>\\[^A-Za-z0-9]|\\[dDwWsSbBtnrf])
      | (?P<flags>\(\?[imsu]+\))
      | (?P<opens>\((?:\?(?:[:=!>]|<[=!]|[imsu]+:)|(?!\?)))
      | (?P<closes>\))
      | (?P<or>\|)
      | (?P<repeats>[*+?])
      | (?P<plain>[^\\(\[])""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)


def check_patterns(tree: QueryTree) -> None:
    """Raises QueryError, underlined."""
    for node in tree.statement.tree.find_all(*_MATCHING, exp.Anonymous):
        pattern = _pattern_of(node)
        constant = None if pattern is None else constant_of(tree.statement, pattern)
        if pattern is None or constant is None or not isinstance(constant.value, str):
            continue
        mistake = mistake_in(constant.value)
        place = identifier_span(pattern)
        if mistake is not None and place is not None and _sees_every_row(node, tree.statement.tree):
            raise tree.statement.error(
                f"[INVALID_PARAMETER_VALUE.PATTERN] {tree.statement.text_at(place)} is no regular expression: {mistake}",
                place,
            )


def _sees_every_row(node: Node, query: Node) -> bool:
    """Whether each row of FROM comes to a part of a query."""
    while node.parent is not None and not isinstance(node.parent, exp.Query):
        if isinstance(node.parent, _IN_SOME_ROWS) or (
            isinstance(node.parent, exp.And | exp.Or) and node.parent.expression is node
        ):
            return False
        node = node.parent
    return node.parent is query and (isinstance(node, exp.Where) or not query.args.get("where"))


def _pattern_of(node: Node) -> Node | None:
    """The pattern of what matches one, if it is written there."""
    pattern = node.args.get("expression")
    if isinstance(node, exp.Anonymous):
        called = node.name.lower() == "regexp" and len(node.expressions) > 1
        pattern = node.expressions[1] if called else None
    return pattern if isinstance(pattern, exp.Literal) and pattern.is_string else None


def mistake_in(pattern: str) -> str | None:
    """What makes a pattern one that Java certainly refuses; None where that is not sure."""
    at = depth = 0
    before = "or"
    while at < len(pattern):
        part = _PART.match(pattern, at)
        if part is None:
            return _end_of(pattern[at:])
        kind = part.lastgroup or ""
        if kind == "repeats" and (before in {"or", "opens"} or (before == "repeats" and part[0] == "*")):
            return f"nothing stands before {part[0]} that it could repeat"
        depth += (kind == "opens") - (kind == "closes")
        if depth < 0:
            return "nothing opens a bracket that is closed"
        before, at = kind, part.end()
    return "a bracket is not closed" if depth else None


def _end_of(rest: str) -> str | None:
    """What is wrong with a pattern whose end is none of the parts."""
    if rest[0] == "[" and "]" not in rest:
        return "a bracket is not closed"
    return "nothing stands behind the last backslash" if rest == "\\" else None
