"""`python tests/sql/scalar_coverage.py [--refused FILE] [FOLDER ...]`: of the scalar calls in SQL files, how many the engine computes.

Every folder is one line of the answer (without any, the sample queries): functions and operators in it, and how many of
them the engine takes by their name, their constants and the types of what they are given. Columns have the types that
their names have in TPC-H and TPC-DS; one of another name has whatever type makes the engine take the call. Aggregates,
windows and subqueries are Spark's, and stand for columns of their results' types, as variables of lambdas do; functions that
Spark does not have are not counted, nor what is something else each time or in each session (`rand`, `current_date`, the date
'today'), nor what only looks like a call (the values of a PIVOT, the number in `-5L`), nor the statements in FILE, which Spark
refuses (`refused_statements.py` writes it). Then come the calls that are most often left to Spark, and why.
"""

from __future__ import annotations

import itertools
import re
import sys
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
from planner_fakes import table

from fff.dataflow.plan.expressions import Literal
from fff.errors import QueryError, Span
from fff.schema import ArrowType
from fff.spark.start.java import NEWEST
from fff.sql.analysis.predicates import Translator
from fff.sql.binder.names import Relation, Scope
from fff.sql.scalars.coercion import type_name
from fff.sql.scalars.java import running_on
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
    "truths": "array<boolean>",
    "doubles": "array<double>",
    "floats": "array<float>",
    "prices": "array<decimal(15,2)>",
    "dates": "array<date>",
    "moments": "array<timestamp>",
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
    "truths",
    "doubles",
    "floats",
    "prices",
    "dates",
    "moments",
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
    exp.TimeStrToTime,  # around the first argument of date_format
)
#: What is no argument of its own: its parts are.
_OPEN = exp.TimeStrToTime | exp.Collate
_STATEMENT = re.compile(r";\s*(?:\n|$)")
_COMMENT = re.compile(r"^\s*--.*$", re.MULTILINE)


@dataclass
class Count:
    """What was found in some files."""

    statements: int = 0
    unread: int = 0
    refused: int = 0
    functions: Counter[bool] = field(default_factory=Counter)
    operators: Counter[bool] = field(default_factory=Counter)
    left: Counter[tuple[str, str]] = field(default_factory=Counter)


def statements(text: str) -> Iterator[str]:
    """The statements of a file."""
    return (part for part in _STATEMENT.split(_COMMENT.sub("", text)) if part.strip())


def one_line(statement: str) -> str:
    """A statement with one blank wherever there are some."""
    return " ".join(statement.split())


def counted(texts: Sequence[str], refused: Container[str] = frozenset()) -> Count:
    """The calls of some files, without statements that Spark refuses."""
    count = Count()
    for text in texts:
        for part in statements(text):
            if one_line(part) in refused:
                count.refused += 1
                continue
            try:
                statement = parse_statement(part)
                _count(statement, count)
            except (QueryError, AssertionError):
                count.unread += 1
            else:
                count.statements += 1
    return count


def _count(statement: Statement, count: Count) -> None:
    judge = _Judge(statement)
    for node in list(statement.tree.find_all(*_COUNTED)):
        if not _is_scalar(node):
            continue
        why = judge.refusal(node)
        kind = count.functions if isinstance(node, exp.Func) else count.operators
        kind[why is None] += 1
        if why is not None:
            name = node.name if isinstance(node, exp.Anonymous) else node.key
            count.left[name.lower(), why] += 1


def _is_scalar(node: Node) -> bool:
    if isinstance(node, _NOT_SCALAR + _GRAMMAR) or isinstance(node.parent, exp.Window | exp.IgnoreNulls):
        return False
    if isinstance(node, exp.In) and (node.args.get("query") or isinstance(node.parent, exp.Pivot)):
        return False
    if isinstance(node, exp.Case | exp.If) and isinstance(node.parent, exp.Case) and node.arg_key == "ifs":
        return False
    if isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal):
        suffixed = isinstance(node.parent, exp.Neg) and not node.this.is_string
        return not suffixed and not _is_of_today(node)
    name = node.name.lower() if isinstance(node, exp.Anonymous) else ""
    if (name or (node.sql_name().lower() if isinstance(node, exp.Func) else "")) in _SESSION:
        return False
    known = not name or name in SPARK_FUNCTIONS  # and none that a test of Spark's has made
    return (
        known
        and name not in _AGGREGATES
        and not _MORE.search(name)
        and not isinstance(node.parent, exp.Lateral | exp.Table)
    )


def _is_of_today(node: Node) -> bool:
    """Whether a day or a moment is written by a word for that of the session."""
    word = (
        isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal) and node.this.name.strip().lower()
    )
    return word in {"today", "tomorrow", "yesterday", "now"}


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
        "try_sum",
        "try_avg",
        "count_min_sketch",
    ]
)
#: Calls that are something else each time, or in each session: there is nothing that both could say.
_SESSION = frozenset(
    {
        *("rand", "randn", "random", "uuid", "randstr", "uniform", "shuffle", "now", "curdate", "localtime"),
        *("current_timestamp", "current_date", "current_time", "localtimestamp", "current_user", "user"),
        *("session_user", "current_database", "current_schema", "current_catalog", "current_timezone"),
        *("monotonically_increasing_id", "spark_partition_id", "version", "input_file_name"),
    }
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
        for asked in self._versions(node):
            translator = Translator(self.statement, SCOPE)
            try:
                # a text of a collation is the engine's as a part of something else
                part = isinstance(node, exp.Collate) and not isinstance(node.parent, exp.Select | exp.Alias)
                return (translator.operand if part else translator.value)(asked).type, ""
            except LeftToSparkError as error:
                why = why or str(error)
            except (QueryError, ArithmeticError, ValueError, pa.ArrowException) as error:
                why = why or f"{type(error).__name__}"
        return None, why or describe(node)

    def _versions(self, node: Node) -> Iterator[Node]:
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
                ((one,) * len(current) for one in _ANY),
                itertools.product(_ANY if len(current) == 2 else _ANY[:6], repeat=len(current)),
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
            if isinstance(one, exp.Paren | exp.If | exp.Escape | exp.Tuple | _OPEN) and not (
                isinstance(one, exp.If) and not isinstance(copy, exp.Case)
            ):
                found += _parts(one, other)
            elif isinstance(one, exp.Neg) and isinstance(one.this, exp.Literal):
                continue
            elif (
                isinstance(one, exp.Column | exp.Subquery | exp.AggFunc | exp.Window | exp.Query)
                or (isinstance(one, exp.Identifier) and _is_variable(other))
                or (isinstance(one, _COUNTED) and not _constant(one) and not _folded(one))
            ):
                found.append((one, other))
    return found


def _is_variable(node: Node) -> bool:
    """Whether a name is a variable of a lambda around it."""
    while (node := node.parent) is not None:
        if isinstance(node, exp.Lambda):
            return True
    return False


def _folded(node: Node) -> bool:
    """Whether a call is of constants alone, and the engine knows what it comes to."""
    if any(node.find_all(exp.Column, exp.AggFunc, exp.Window, exp.Query)):
        return False
    try:
        statement = parse_statement(f"SELECT {node.sql('spark')} AS z")
        found = Translator(statement, SCOPE).value(statement.tree.expressions[0].this)
    except (LeftToSparkError, QueryError, ArithmeticError, ValueError, AssertionError, pa.ArrowException):
        return False
    return isinstance(found.expr, Literal)


def _constant(node: Node) -> bool:
    if any(map(_is_of_today, node.find_all(exp.Cast))):
        return False
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


def main(arguments: Sequence[str]) -> None:
    """Prints the counts."""
    folders, refused = list(arguments), frozenset[str]()
    if folders[:1] == ["--refused"]:
        refused = frozenset(Path(folders[1]).read_text(encoding="utf-8").splitlines())
        folders = folders[2:]
    samples = Path(__file__).parents[2] / "sample_queries"
    for folder in map(Path, folders or [str(samples)]):
        files = sorted(folder.rglob("*.sql"))
        if not files:
            print(f"{folder}: no SQL files, skipped")
            continue
        with running_on(lambda: NEWEST):
            count = counted([path.read_text(encoding="utf-8", errors="replace") for path in files], refused)
        print(
            f"{folder}: {len(files)} files, {count.statements} queries, {count.unread} statements that FFF does not read"
            + (f", {count.refused} that Spark refuses" if refused else "")
        )
        print(
            f"  functions {_percent(count.functions)}   operators {_percent(count.operators)}"
            f"   all {_percent(count.functions + count.operators)}"
        )
        for (name, why), times in count.left.most_common(60):
            print(f"  {times:>5} {name}: {why}")


if __name__ == "__main__":
    main(sys.argv[1:])
