"""`python tests/sql/scalar_coverage.py [FOLDER ...]`: of the scalar calls in SQL files, how many the engine computes.

Every folder is one line of the answer (without any, the sample queries): functions and operators in it, and how many of
them the engine takes by their name, their constants and the types of what they are given. Columns have the types that
their names have in TPC-H and TPC-DS; one of another name has whatever type makes the engine take the call. Aggregates,
windows and subqueries are Spark's, and stand for columns of their results' types; functions that Spark does not have are
not counted, nor are, with `--spark`, those that Spark refuses for their types, whatever the columns in them are. Then
come the calls that are most often left to Spark, and why.
"""

from __future__ import annotations

import itertools
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
from planner_fakes import table
from refused_calls import Refusals

from fff.errors import QueryError, Span
from fff.schema import ArrowType
from fff.spark.session import SparkEngine
from fff.sql.analysis.predicates import Translator
from fff.sql.binder.names import Relation, Scope
from fff.sql.scalars.coercion import type_name
from fff.sql.scalars.typed import LeftToSparkError
from fff.sql.scalars.words import describe
from fff.sql.syntax.parse import parse_statement
from fff.sql.syntax.spark_functions import SPARK_FUNCTIONS
from fff.sql.syntax.statement import Node, Statement, exp

#: What stands for a column, by the name of its type here.
_TYPES = {
    "int": "int",
    "bigint": "bigint",
    "text": "string",
    "date": "date",
    "money": "decimal(7,2)",
    "price": "decimal(15,2)",
    "total": "decimal(17,2)",
    "mean": "decimal(11,6)",
    "double": "double",
    "moment": "timestamp",
    "truth": "boolean",
    "numbers": "array<int>",
    "words": "array<string>",
    "map_": "map<string,int>",
    "struct_": "struct<a:int,b:string>",
    "binary_": "binary",
    "naive": "timestamp_ntz",
    "wide": "decimal(38,18)",
    "lists": "array<array<int>>",
    "structs": "array<struct<a:int,b:string>>",
    "maps": "map<int,int>",
}
#: Types of columns by their names in the two benchmarks.
_NAMES = (
    (re.compile(r"(l|o|p|ps|c|s|n|r)_\w*(key|size|availqty|linenumber|shippriority)"), "bigint"),
    (re.compile(r"(l|o|p|ps|c|s)_\w*(price|cost|bal|discount|tax|quantity)"), "price"),
    (re.compile(r"[lo]_\w*date|d_date"), "date"),
    (re.compile(r"\w+_(sk|year|moy|dom|dow|qoy|quantity|qty|hour|minute|count|seq|employees|id_int)"), "int"),
    (
        re.compile(r"(ss|cs|ws|sr|cr|wr|i|s|web|cc)_\w*(price|cost|amt\w*|tax|profit|paid\w*|loss|fee|cash|charge|credit|offset|percentage)"),
        "money",
    ),
    (re.compile(r"(l|o|p|ps|c|s|n|r|ca|cd|hd|i|d|w|web|cc|sm|p|r|ib|t|cp|wp)_\w+"), "text"),
)  # fmt: skip
_ANY = (
    "int",
    "text",
    "date",
    "double",
    "moment",
    "numbers",
    "map_",
    "truth",
    "money",
    "struct_",
    "words",
    "binary_",
    "lists",
    "structs",
    "maps",
)
SCOPE = Scope.of(
    Relation(
        "t",
        table("lab.t", ", ".join(f"{name} {kind}" for name, kind in _TYPES.items()), scans=1),
        0,
        Span(0, 0),
        renamed=False,
    )
)
_COUNTED = (*(exp.Func, exp.Binary, exp.Neg, exp.Not, exp.In, exp.Between, exp.Bracket, exp.BitwiseNot),)
_NOT_SCALAR = (
    exp.AggFunc,
    exp.UDTF,
    exp.Explode,
    exp.Posexplode,
    exp.Inline,
    exp.And,
    exp.Or,
    exp.Dot,
    exp.Exists,
)
#: Nodes of the tree that are no calls though their classes say so.
_GRAMMAR = (
    exp.Connector,
    exp.Paren,
    exp.Alias,
    exp.Kwarg,
    exp.PropertyEQ,
    exp.Escape,
    exp.Slice,
    exp.Any,
    exp.All,
)
_STATEMENT = re.compile(r";\s*(?:\n|$)")
_COMMENT = re.compile(r"^\s*--.*$", re.MULTILINE)


@dataclass
class Count:
    """What was found in some files."""

    statements: int = 0
    unread: int = 0
    functions: Counter[bool] = field(default_factory=Counter)
    operators: Counter[bool] = field(default_factory=Counter)
    left: Counter[tuple[str, str]] = field(default_factory=Counter)
    refused: int = 0


Refused: TypeAlias = Callable[[Iterable[Node]], bool]


def _nothing(_: Iterable[Node]) -> bool:
    return False


def counted(texts: Sequence[str], refused: Refused = _nothing) -> Count:
    """The calls of some files, without those of which all versions are refused."""
    count = Count()
    for text in texts:
        for part in _STATEMENT.split(_COMMENT.sub("", text)):
            if not part.strip():
                continue
            try:
                statement = parse_statement(part)
                _count(statement, count, refused)
            except (QueryError, AssertionError):
                count.unread += 1
            else:
                count.statements += 1
    return count


def _count(statement: Statement, count: Count, refused: Refused) -> None:
    judge = _Judge(statement)
    for node in list(statement.tree.find_all(*_COUNTED)):
        if not _is_scalar(node):
            continue
        why = judge.refusal(node)
        if why is not None and refused(judge.versions(node)):
            count.refused += 1
            continue
        kind = count.functions if isinstance(node, exp.Func) else count.operators
        kind[why is None] += 1
        if why is not None:
            name = node.name if isinstance(node, exp.Anonymous) else node.key
            count.left[name.lower(), why] += 1


def _is_scalar(node: Node) -> bool:
    if isinstance(node, _NOT_SCALAR + _GRAMMAR) or isinstance(node.parent, exp.Window | exp.IgnoreNulls):
        return False
    if isinstance(node, exp.In) and node.args.get("query"):
        return False
    if isinstance(node, exp.Case | exp.If) and isinstance(node.parent, exp.Case) and node.arg_key == "ifs":
        return False
    if isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal):
        return True
    name = node.name.lower() if isinstance(node, exp.Anonymous) else ""
    known = not name or name in SPARK_FUNCTIONS  # and none that a test of Spark's has made
    return (
        known
        and name not in _AGGREGATES
        and not _MORE.search(name)
        and not isinstance(node.parent, exp.Lateral | exp.Table)
    )


_MORE = re.compile(r"_agg(_|$)|^approx_|^try_(sum|avg)$|^count_min_sketch$")
_AGGREGATES = frozenset(
    [
        "grouping",
        "grouping_id",
        "count_if",
        "bool_and",
        "bool_or",
        "every",
        "any",
        "some",
        "first",
        "last",
        "collect_list",
        "collect_set",
        "regr_count",
        "explode",
        "explode_outer",
        "inline",
        "inline_outer",
        "stack",
        "posexplode",
        "posexplode_outer",
        "json_tuple",
        "listagg",
        "string_agg",
        "mode",
        "bit_and",
        "bit_or",
        "bit_xor",
        "kurtosis",
        "skewness",
        "percentile",
        "median",
        "max_by",
        "min_by",
        "any_value",
        "histogram_numeric",
    ]
)


@dataclass
class _Judge:
    statement: Statement
    known: dict[int, ArrowType | None] = field(default_factory=dict)

    def refusal(self, node: Node) -> str | None:
        """Why the engine leaves a call to Spark, whatever it thinks of the calls in its arguments."""
        kinds, why = self._judged(node)
        return None if kinds is not None else why

    def _judged(self, node: Node) -> tuple[ArrowType | None, str]:
        why = ""
        for asked in self.versions(node):
            translator = Translator(self.statement, SCOPE, {})
            try:
                return translator.value(asked).type, ""
            except LeftToSparkError as error:
                why = why or str(error)
            except (QueryError, ArithmeticError, ValueError, pa.ArrowException) as error:
                why = why or f"{type(error).__name__}"
        return None, why or describe(node)

    def versions(self, node: Node) -> Iterator[Node]:
        """The call with a column in place of every argument that is not constant, of every type that may be meant."""
        copy = node.copy()
        open_places: list[list[Node]] = []
        by_name: dict[str, list[Node]] = {}
        for part, original in _parts(copy, node):
            if isinstance(part, exp.Column):
                kind = _named(part.name.lower())
                group = by_name.setdefault(part.name.lower(), [])
            else:
                kind = self._type(original)
                group = []
            if kind is not None:
                _put(part, kind)
            else:
                if not group:
                    open_places.append(group)
                group.append(part)
        current = [list(group) for group in open_places]
        choices: Iterator[tuple[str, ...]] = iter(((),))
        if len(current) == 1:
            choices = ((one,) for one in _ANY)
        elif len(current) in {2, 3}:
            choices = itertools.chain(
                ((one,) * len(current) for one in _ANY), itertools.product(_ANY[:6], repeat=len(current))
            )
        elif current:
            choices = ((one,) * len(current) for one in _ANY)
        for choice in choices:
            for place, (group, kind) in enumerate(zip(current, choice, strict=True)):
                current[place] = [_put(one, kind) for one in group]
            yield copy

    def _type(self, node: Node) -> str | None:
        """The column type of what an argument comes to, where it is known."""
        if isinstance(node, exp.AggFunc | exp.Window):
            inner = node.this if isinstance(node, exp.Window) else node
            if (
                isinstance(inner, exp.Count | exp.RowNumber | exp.Rank | exp.DenseRank)
                or inner.key == "grouping"
            ):
                return "bigint"
            if isinstance(inner, exp.Window | exp.AggFunc) and isinstance(inner.this, exp.Expression):
                given = self._column_type(inner.this)
                if given in {"money", "price", "total"}:
                    return {"sum": "total", "avg": "mean"}.get(inner.key, given)
                if given in {"int", "bigint"}:
                    return {"sum": "bigint", "avg": "double"}.get(inner.key, given)
                return given
            return None
        if isinstance(node, exp.Anonymous) and node.name.lower() == "grouping":
            return "int"
        kind, _ = self._judged(node) if isinstance(node, _COUNTED) else (None, "")
        return _nearest(kind) if kind is not None else None

    def _column_type(self, node: Node) -> str | None:
        node = node.unnest()
        if isinstance(node, exp.Distinct):
            node = node.expressions[0].unnest()
        if isinstance(node, exp.Column):
            return _named(node.name.lower())
        return self._type(node)


def _parts(copy: Node, original: Node) -> list[tuple[Node, Node]]:
    """The arguments of a call that are not constants, as in the copy and in the statement."""
    found: list[tuple[Node, Node]] = []
    for key, value in copy.args.items():
        others = original.args[key]
        for one, other in zip(
            value if isinstance(value, list) else [value],
            others if isinstance(others, list) else [others],
            strict=True,
        ):
            if not isinstance(one, exp.Expression) or isinstance(one, exp.DType | exp.DataType | exp.Var):
                continue
            if isinstance(one, exp.Interval):
                continue
            if isinstance(one, exp.Paren | exp.If | exp.Escape | exp.Tuple) and not (
                isinstance(one, exp.If) and not isinstance(copy, exp.Case)
            ):
                found += _parts(one, other)
            elif isinstance(one, exp.Neg) and isinstance(one.this, exp.Literal):
                continue
            elif isinstance(one, exp.Column | exp.Subquery | exp.AggFunc | exp.Window | exp.Query) or (
                isinstance(one, _COUNTED) and not _constant(one)
            ):
                found.append((one, other))
    return found


def _constant(node: Node) -> bool:
    return not any(node.find_all(exp.Column, exp.AggFunc, exp.Window, exp.Query, exp.Anonymous)) and (
        isinstance(node, (exp.Neg | exp.Cast | exp.Array | exp.Map | exp.DPipe, exp.Literal))
    )


def _put(node: Node, kind: str) -> Node:
    column = exp.column(kind)
    node.replace(column)
    return column


def _named(name: str) -> str | None:
    return next((kind for pattern, kind in _NAMES if pattern.fullmatch(name)), None)


def _nearest(kind: ArrowType) -> str | None:
    """The column whose type is this one, or near to it."""
    spelled = {written: name for name, written in _TYPES.items()}
    if pa.types.is_decimal(kind):
        return (
            "money"
            if kind.precision <= 8
            else "price"
            if kind.precision <= 16
            else "wide"
            if kind.precision > 30
            else "total"
        )
    return spelled.get(type_name(kind)) or ("int" if pa.types.is_integer(kind) else None)


def _percent(count: Counter[bool]) -> str:
    everything = count.total()
    return f"{count[True]:>6} of {everything:>6}" + (
        f" {100 * count[True] / everything:5.1f} %" if everything else ""
    )


def main(folders: Sequence[str]) -> None:
    """Prints the counts."""
    samples = Path(__file__).parents[2] / "sample_queries"
    asks = "--spark" in folders
    folders = [folder for folder in folders if folder != "--spark"]
    with SparkEngine() if asks else nullcontext() as spark:
        refused = _nothing if spark is None else Refusals(spark, _TYPES)
        _print(folders or [str(samples)], refused)


def _print(folders: Sequence[str], refused: Refused) -> None:
    for folder in map(Path, folders):
        files = sorted(folder.rglob("*.sql"))
        if not files:
            print(f"{folder}: no SQL files, skipped")
            continue
        count = counted([path.read_text(encoding="utf-8", errors="replace") for path in files], refused)
        print(
            f"{folder}: {len(files)} files, {count.statements} queries, {count.unread} statements that FFF does not read"
        )
        print(
            f"  functions {_percent(count.functions)}   operators {_percent(count.operators)}"
            f"   all {_percent(count.functions + count.operators)}"
        )
        if count.refused:
            print(f"  and {count.refused} calls that Spark refuses for their types")
        for (name, why), times in count.left.most_common(60):
            print(f"  {times:>5} {name}: {why}")


if __name__ == "__main__":
    main(sys.argv[1:])
