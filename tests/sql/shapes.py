"""Random statements of every shape over three small tables, and what becomes of them without an engine.

The blocks of a plan are computed by brute force over the full tables; Spark then runs the plan's SQL over them, and the
statement itself over the full tables. Both must give the same rows.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from planner_fakes import catalog, table

from fff.catalog import Catalog, Table
from fff.dataflow.plan.expressions import Column, evaluate, evaluate_rows
from fff.dataflow.plan.plan import BlockPlan
from fff.result.projection import UnionRows
from fff.schema import Field
from fff.spark.session import SparkEngine
from fff.sql import BlockQuery, Feed, Prepared

COLUMNS = "a bigint, b bigint, s string"
NAMES = ("r", "t", "u")
#: How a table may be reached: number of scans, lookups.
ACCESS = (
    (1, ()),
    (1, ()),
    (1, ("a",)),
    (0, ("a",)),
    (0, ("b",)),
    (0, ("a", "b")),
    (0, ("a,b",)),
)


def sources(rng: random.Random) -> Catalog:
    """The three tables, reached in some way each; one of them, and in half the cases two, can be scanned."""
    ways = [(1, ()), rng.choice(ACCESS), rng.choice(ACCESS if rng.random() < 0.5 else ACCESS[:2])]
    return catalog(
        *(
            table(f"x.{name}", COLUMNS, scans=scans, lookups=tuple(lookups))
            for name, (scans, lookups) in zip(NAMES, ways, strict=True)
        )
    )


def rows(rng: random.Random, reached: Catalog | None = None) -> dict[str, pa.Table]:
    """A few rows of each table, with NULLs and duplicates; NULL is no key of what is reached by key alone."""
    drawn = _rows(rng)
    for declared in () if reached is None else reached.tables():
        for key in filter(declared.always_bound, ("a", "b")):
            drawn[declared.name] = drawn[declared.name].filter(pc.field(key).is_valid())
    return drawn


def _rows(rng: random.Random) -> dict[str, pa.Table]:
    schema = pa.schema([("a", pa.int64()), ("b", pa.int64()), ("s", pa.string())])
    return {
        name: pa.table(
            {
                "a": pa.array([rng.choice([None, 0, 1, 2, 3]) for _ in range(count)], pa.int64()),
                "b": pa.array([rng.choice([None, 0, 1, 2]) for _ in range(count)], pa.int64()),
                "s": pa.array([rng.choice([None, "x", "y"]) for _ in range(count)], pa.string()),
            },
            schema=schema,
        )
        for name in NAMES
        for count in [rng.choice([0, 2, 4, 6])]
    }


@dataclass
class Writer:
    """Writes random statements. A scope is a list of (alias, columns)."""

    rng: random.Random
    number: itertools.count = field(default_factory=itertools.count)
    ctes: dict[str, list[str]] = field(default_factory=dict)

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def statement(self) -> str:
        head = ""
        if self.chance(0.25):
            body, columns = self.select(1, [], want=2)
            self.ctes["w"] = columns
            head = f"WITH w AS ({body}) "
        sql, columns = self.select(2, [], want=self.rng.choice([1, 2, 2, 3]))
        if self.chance(0.2):
            other, _ = self.select(1, [], want=len(columns))
            word = self.rng.choice(["UNION", "UNION ALL", "INTERSECT", "EXCEPT", "INTERSECT ALL"])
            sql = f"{sql} {word} {other}"
        return head + sql

    def select(self, depth: int, outer: list[tuple[str, list[str]]], want: int) -> tuple[str, list[str]]:
        """A SELECT with `want` numeric columns, and what they are called."""
        text, scope = self.source(depth, outer)
        visible = [scope]
        hidden: list[list[tuple[str, list[str]]]] = []
        source = text
        for _ in range(self.rng.choice([0, 0, 1, 1, 2])):
            source, visible, hidden = self.join(source, visible, hidden, depth, outer)
        here = [entry for entries in visible for entry in entries]
        conditions = [self.condition(here, outer, depth) for _ in range(self.rng.choice([0, 1, 1, 2]))]
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        picks = [self.column(here) for _ in range(want)]
        names = [f"c{next(self.number)}" for _ in picks]
        shape = self.rng.choice(["plain", "plain", "distinct", "group", "group", "window", "first"])
        if shape == "group" and want > 1:
            call = self.rng.choice(["sum", "max", "count", "count(DISTINCT"])
            closing = "))" if "(" in call else ")"
            items = [f"{pick} AS {name}" for pick, name in zip(picks[:-1], names, strict=False)]
            items.append(
                f"{call}({picks[-1]}{closing} AS {names[-1]}"
                if "(" not in call
                else f"{call} {picks[-1]}) AS {names[-1]}"
            )
            having = " HAVING count(*) > 1" if self.chance(0.2) else ""
            return (
                f"SELECT {', '.join(items)} FROM {source}{where} GROUP BY {', '.join(picks[:-1])}{having}",
                names,
            )
        word = "DISTINCT " if shape == "distinct" else ""
        if shape == "window":  # of values that do not depend on the order of equal rows
            call = self.rng.choice(["rank()", "dense_rank()", "count(*)", f"sum({picks[-1]})"])
            part = f"PARTITION BY {self.column(here)} " if self.chance(0.6) else ""
            picks[-1] = f"{call} OVER ({part}ORDER BY {self.column(here)})"
        items = ", ".join(f"{pick} AS {name}" for pick, name in zip(picks, names, strict=True))
        sql = f"SELECT {word}{items} FROM {source}{where}"
        if shape == "first":
            order = f"ORDER BY {', '.join(names)} LIMIT {self.rng.choice([1, 2, 4])}"
            sql = f"SELECT * FROM ({sql} {order}) q{next(self.number)}"
        return sql, names

    def source(self, depth: int, outer) -> tuple[str, list[tuple[str, list[str]]]]:
        alias = f"q{next(self.number)}"
        if depth > 0 and self.chance(0.2):
            body, columns = self.select(depth - 1, [], want=2)
            return f"({body}) {alias}", [(alias, columns)]
        if self.ctes and self.chance(0.3):
            name, columns = next(iter(self.ctes.items()))
            return f"{name} {alias}", [(alias, columns)]
        return f"{self.rng.choice(NAMES)} {alias}", [(alias, ["a", "b"])]

    def join(self, source, visible, hidden, depth, outer):
        text, scope = self.source(depth - 1, outer)
        left = [entry for entries in visible for entry in entries]
        kind = self.rng.choice(
            [
                "JOIN",
                "JOIN",
                "JOIN",
                "LEFT JOIN",
                "LEFT JOIN",
                "RIGHT JOIN",
                "FULL JOIN",
                "LEFT SEMI JOIN",
                "LEFT ANTI JOIN",
            ]
        )
        shared = set(left[-1][1]) & set(scope[0][1])
        if len(visible) == 1 and len(left) == 1 and shared and self.chance(0.2):
            name = self.rng.choice(sorted(shared))
            rest = [
                (alias, [one for one in columns if one != name or kind == "RIGHT JOIN"])
                for alias, columns in left
            ]
            joined = f"{source} {kind} {text} USING ({name})"
            if kind in {"LEFT SEMI JOIN", "LEFT ANTI JOIN"}:
                return joined, visible, [*hidden, scope]
            return joined, [[(alias, columns or ["b"]) for alias, columns in rest], scope], hidden
        conditions = [f"{self.column(left)} = {self.column(scope)}"]
        if self.chance(0.3):
            conditions.append(self.simple(self.rng.choice([left, scope])))
        if self.chance(0.15):
            conditions = [f"{self.column(left)} < {self.column(scope)}"]
        joined = f"{source} {kind} {text} ON {' AND '.join(conditions)}"
        if kind in {"LEFT SEMI JOIN", "LEFT ANTI JOIN"}:
            return joined, visible, [*hidden, scope]
        return joined, [*visible, scope], hidden

    def column(self, scope) -> str:
        alias, columns = self.rng.choice(scope)
        return f"{alias}.{self.rng.choice(columns)}"

    def simple(self, scope) -> str:
        column, value = self.column(scope), self.rng.randint(0, 3)
        return self.rng.choice(
            [
                f"{column} = {value}",
                f"{column} > {value}",
                f"{column} IN (0, {value})",
                f"{column} IS NULL",
                f"{column} IS NOT NULL",
                f"({column} = {value} OR {self.column(scope)} IS NULL)",
                f"coalesce({column}, 1) = {value}",
                f"NOT {column} = {value}",
                f"{column} <=> {value}",
            ]
        )

    def equal(self, here, other) -> str:
        """Two columns are equal, in most of the ways in which SQL can say so; rows of columns only where the types are known."""
        left, right, more = self.column(here), self.column(other), self.column(other)
        either = f"({left} = {right} OR ({left} IS NULL AND {right} IS NULL))"
        ways = [*[f"{left} = {right}"] * 6, f"{left} <=> {right}", either]
        if {one.rpartition(".")[2] for one in (left, right, more)} <= {"a", "b"}:
            ways.append(f"({left}, {left}) = ({right}, {more})")
        return self.rng.choice(ways)

    def condition(self, here, outer, depth: int) -> str:
        roll = self.rng.random()
        if roll < 0.3:
            return self.simple(here)
        if roll < 0.45 and len(here) > 1:
            return self.equal(here, here)
        if roll < 0.5 and outer:
            return self.equal(here, outer)
        if depth <= 0:
            return self.simple(here)
        if roll < 0.7:
            body, _ = self.select(depth - 1, [], want=1)
            word = self.rng.choice(["IN", "IN", "IN", "NOT IN"])
            return f"{self.column(here)} {word} ({body})"
        if roll < 0.9:
            text, scope = self.source(0, [])
            more = f" AND {self.simple(scope)}" if self.chance(0.4) else ""
            word = self.rng.choice(["EXISTS", "EXISTS", "NOT EXISTS"])
            return f"{word} (SELECT 1 FROM {text} WHERE {self.column(scope)} = {self.column(here)}{more})"
        text, scope = self.source(0, [])
        call = self.rng.choice(["max", "count", "sum"])
        inner = f"SELECT {call}({self.column(scope)}) FROM {text} WHERE {self.column(scope)} = {self.column(here)}"
        return f"({inner}) {self.rng.choice(['>', '=', '<='])} {self.rng.randint(0, 3)}"


def in_order(plan: BlockPlan) -> list[int]:
    """The right sides, each behind those that its ON condition names."""
    waiting = {number: alias for number, alias in enumerate(plan.aliases) if alias.kind != "inner"}
    order: list[int] = []
    while waiting:
        ready = [
            number
            for number, alias in waiting.items()
            if all(other.alias not in waiting for _, other in alias.links)
        ]
        assert ready, "right sides wait for each other"
        order += ready
        waiting = {number: alias for number, alias in waiting.items() if number not in ready}
    return order


@dataclass
class Run:
    """A plan carried out without an engine: every block by brute force, in order, and the queries for keys by Spark."""

    prepared: Prepared
    data: dict[str, pa.Table]
    spark: SparkEngine
    done: list[pa.Table] = field(default_factory=list)
    views: dict[str, pa.Table] = field(default_factory=dict)

    def result(self) -> pa.Table:
        """What the plan gives."""
        for block in self.prepared.blocks:
            rows = self._block(block)
            self.done.append(rows)
            self.views[block.view] = rows.rename_columns(
                [one.name for one in block.fields] or rows.column_names
            )
        upper = self.prepared.upper
        if upper is None:
            return made_of(self.prepared, self.done)
        return self.spark.run_over(upper.final or upper.sql, self.views)

    def _block(self, block: BlockQuery) -> pa.Table:
        """The product of the inner aliases and their equalities, right sides one after the other, then the predicates."""
        plan = block.plan
        fed = {feed.table: feed for feed in block.feeds}
        by_table = [
            self._keys(fed[number], planned.columns)
            if number in fed
            else self._rows(block.tables[number]).select([one.name for one in planned.columns])
            for number, planned in enumerate(plan.tables)
        ]
        tables = [by_table[alias.table] for alias in plan.aliases]
        inner = [alias.kind == "inner" for alias in plan.aliases]
        sizes = [range(len(one)) if own else (-1,) for one, own in zip(tables, inner, strict=True)]
        picks = np.array(list(itertools.product(*sizes)), np.int64).reshape(-1, len(tables))

        def column(one: Column) -> pa.Array:
            values = tables[one.alias].column(one.index).combine_chunks()
            rows = picks[:, one.alias]
            return values.take(pa.array(rows, mask=rows < 0))

        def meeting(pairs: Sequence[Sequence[Column]], on: int | None) -> np.ndarray:
            """Which picks have these columns equal, and meet the predicates of WHERE or of an ON condition."""
            keep = np.ones(len(picks), np.bool_)
            for members in pairs:
                values = [column(member).to_pylist() for member in members]
                same = [one[0] is not None and len(set(one)) == 1 for one in zip(*values, strict=True)]
                keep &= np.array(same, np.bool_)
            for predicate in plan.predicates:
                if predicate.on == on:
                    truth = evaluate(predicate.expr, column, len(picks))
                    keep &= np.array([one is True for one in truth.to_pylist()], np.bool_)
            return keep

        for number in in_order(plan):
            alias = plan.aliases[number]
            left, size = picks, len(tables[number])
            picks = np.repeat(left, size, axis=0)
            picks[:, number] = np.tile(np.arange(size), len(left))
            matching = meeting([(Column(number, own), other) for own, other in alias.links], number)
            met = matching.reshape(len(left), size).any(axis=1)
            alone = left[~met if alias.kind != "semi" else met]
            picks = np.concatenate((picks[matching], alone)) if alias.kind == "left" else alone
        keep = meeting([equality.members for equality in plan.equalities], None)
        if plan.limit is not None:
            keep[np.flatnonzero(keep)[plan.limit :]] = False
        names = [f"c{place}" for place in range(len(plan.output))]
        return pa.table([column(one) for one in plan.output], names=names).filter(pa.array(keep))

    def _rows(self, table: Table) -> pa.Table:
        """Those of a source; those that the statement spells out; or a computed value for all there may be to compute it from."""
        if table.source:
            return self.data[table.name]
        given = next(method.endpoint for method in (*table.scans, *table.lookups))
        if isinstance(given, pa.Table):
            return given
        *arguments, value = table.columns
        columns = [column for rows in self.data.values() for column in rows.columns]
        known = [
            {one for column in columns if column.type == field.arrow for one in column.to_pylist()} - {None}
            for field in arguments
        ]
        keys = list(itertools.product(*known))
        made = [
            pa.array(one, field.arrow) for one, field in zip(zip(*keys, strict=True), arguments, strict=True)
        ]
        values = evaluate_rows(given.expr, lambda column: made[column.index], len(keys)).values
        return pa.table([*made, values], [field.name for field in (*arguments, value)])

    def _keys(self, feed: Feed, columns: Sequence[Field]) -> pa.Table:
        names = [one.name for one in columns]
        if feed.rows is not None:
            table = self.prepared.blocks[
                next(at for at, one in enumerate(self.prepared.blocks) if feed in one.feeds)
            ]
            whole = [one.name for one in table.tables[feed.table].columns]
            union = UnionRows(feed.rows, self.prepared.sql)
            return _united(feed.rows.fields, union, self.done).rename_columns(whole).select(names)
        if feed.query is not None:
            query = feed.query
            if query.view not in self.views:
                self.views[query.view] = self.spark.run_over(query.sql, self.views)
            found = [self.views[query.view].select(list(query.columns))]
        else:
            found = [self.done[source.block].select(list(source.columns)) for source in feed.sources]
        if not found:  # a broken planner: keys from nowhere are no keys
            return pa.schema([(one.name, one.arrow) for one in columns]).empty_table()
        keys = pa.concat_tables(one.rename_columns(names) for one in found).group_by(names).aggregate([])
        return keys.filter(_all_valid(keys))


def _all_valid(keys: pa.Table) -> pa.ChunkedArray:
    valid = pa.chunked_array([pa.array(np.ones(len(keys), np.bool_))])
    for one in keys.columns:
        valid = pc.and_(valid, pc.is_valid(one))
    return valid


def made_of(prepared: Prepared, blocks: Sequence[pa.Table]) -> pa.Table:
    """What the engine itself makes of the rows of blocks."""
    assert prepared.result is not None
    return _united(prepared.result.fields, UnionRows(prepared.result, prepared.sql), blocks)


def _united(fields: Sequence[Field], union: UnionRows, blocks: Sequence[pa.Table]) -> pa.Table:
    """The rows of a union over those of all blocks."""
    found = union.alone()
    for number, rows in enumerate(blocks):
        if union.reads(number):
            found += [union.of(number, batch) for batch in rows.combine_chunks().to_batches()]
    schema = pa.schema([(field.name, field.arrow) for field in fields])
    return pa.Table.from_batches([one for one in found if len(one)], schema)


def bag(found: pa.Table) -> Counter:
    return Counter(zip(*(column.to_pylist() for column in found.columns), strict=True))
