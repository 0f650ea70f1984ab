"""What is written out in clauses and types and can be no such thing: digits, parts of moments, sizes of samples, marks."""

from __future__ import annotations

from fff.schema import MOST_DIGITS
from fff.sql.binder.scopes import QueryTree
from fff.sql.scalars.words import MORE_PARTS, PARTS, SECONDS
from fff.sql.syntax.statement import Node, exp, keyword, refused

_PARTS = frozenset({*PARTS, *MORE_PARTS, *SECONDS})
_NEVER_NATURAL = frozenset({"SEMI", "ANTI", "CROSS"})


def check_clauses(tree: QueryTree) -> None:
    """Raises QueryError, underlined."""
    for node in tree.statement.tree.walk():
        if (mistake := _mistake(node)) is not None:
            raise refused(tree.statement, *mistake)


def _mistake(node: Node) -> tuple[Node, str] | None:
    """What is wrong with a node, and which part of it that is."""
    match node:
        case exp.DataType(this=exp.DType.DECIMAL):
            return _of_decimal([one.this for one in node.expressions if isinstance(one, exp.DataTypeParam)])
        case exp.Extract(this=exp.Var() as part) if part.name.upper() not in _PARTS:
            return node.expression, f"[INVALID_EXTRACT_FIELD] {part.name} is no part of a moment"
        case exp.Anonymous() if node.name.lower() in {"date_part", "datepart"} and node.expressions:
            part = node.expressions[0]
            if isinstance(part, exp.Literal) and part.is_string and part.name.upper() not in _PARTS:
                return part, f"[INVALID_EXTRACT_FIELD] {part.name} is no part of a moment"
        case exp.Join() if keyword(node, "method") == "NATURAL" and keyword(node, "kind") in _NEVER_NATURAL:
            return node, f"NATURAL goes with no {keyword(node, 'kind')} JOIN: name the columns, USING (…)"
        case exp.Anonymous() if node.name.lower() == "named_struct":
            return _of_struct(node)
        case exp.Escape(expression=exp.Literal() | exp.Null() as mark) if (
            not mark.is_string or len(mark.name) != 1
        ):
            return mark if mark.is_string else node, "ESCAPE takes one character"
        case exp.Limit(expression=exp.Cast() as count) | exp.Offset(expression=exp.Cast() as count):
            if not count.to.is_type("int"):
                return count, f"{node.key.upper()} takes a number of type int"
        case exp.Limit(expression=exp.Column() as count) | exp.Offset(expression=exp.Column() as count):
            return count, f"{node.key.upper()} takes a constant"
        case exp.TableSample(args={"percent": exp.Literal() as share}) if float(share.name) > 100:
            return share, "a sample has 100 PERCENT at most"
        case exp.TableSample(
            args={"bucket_numerator": exp.Literal() as one, "bucket_denominator": exp.Literal() as all_}
        ) if int(one.name) > int(all_.name):
            return one, f"there are {all_.name} buckets"
    return None


def _of_decimal(digits: list[Node]) -> tuple[Node, str] | None:
    numbers = [int(one.name) for one in digits if isinstance(one, exp.Literal) and one.is_int]
    if numbers and numbers[0] > MOST_DIGITS:
        return digits[
            0
        ], f"[DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION] a decimal has {MOST_DIGITS} digits at most"
    if len(numbers) == 2 and numbers[1] > numbers[0]:
        return digits[1], f"a decimal of {numbers[0]} digits has no {numbers[1]} behind its point"
    return None


def _of_struct(node: Node) -> tuple[Node, str] | None:
    if len(node.expressions) % 2:
        return node, "named_struct takes names and values in turn"
    names = node.expressions[::2]
    named = [column for name in names for column in name.find_all(exp.Column)]
    named += [name for name in names if isinstance(name, exp.Literal) and not name.is_string]
    return (named[0], "the names of named_struct are constant texts") if named else None
