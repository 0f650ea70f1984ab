"""Random blocks from one seed: plan, rows and SQL.

Small domains and few rows make every coincidence likely (duplicates, NULLs, cycles, self-joins, rows that join with
themselves), which is where execution semantics go wrong. The shares are those of the design ledger, section 6.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import product
from math import inf, nan

from fff.dataflow.plan.expressions import Column, Compare, Expr, InList, IsNull, Literal, Not, Or
from fff.dataflow.plan.plan import (
    AliasPlan,
    BlockPlan,
    EqualityClass,
    JoinKind,
    LookupPlan,
    Predicate,
    ScanPlan,
    Seed,
    TablePlan,
)
from fff.schema import Field

Value = object
Row = tuple[Value, ...]

#: What stands for domain values 0, 1, 2, … in each type. NaN, both zeros and the ends of the integers are in on purpose.
DOMAINS: dict[str, tuple[Value, ...]] = {
    "bigint": (0, 1, 2, 3),
    "int": (0, 1, 2, 3),
    "extreme": (-1, 0, 2**63 - 1, -(2**63)),
    "string": ("", "a", "A", "\u00e9"),
    "double": (0.0, nan, 1.5, inf),
    "date": (date(1969, 12, 31), date(1970, 1, 1), date(2024, 2, 29), date(9999, 12, 31)),
    "boolean": (False, True, False, True),
}
SPARK_TYPE = {"extreme": "bigint"}
NULL_SHARE = 0.08
MAX_COMBINATIONS = 2_000  # product of row counts: bounds the oracle and the results of cross products


@dataclass(frozen=True)
class Knobs:
    """What a generator run may contain; the negative controls narrow it to what a broken rule needs."""

    aliases: tuple[int, ...] = (2, 2, 3, 3, 3, 4, 4, 5)
    self_join: float = 0.3
    typed: float = 0.25  # share of instances with columns that are not plain integers
    kinds: tuple[str, ...] = ("string", "double", "date", "boolean", "extreme", "int")
    extra_edge: float = 0.4
    missing_edge: float = 0.06
    predicate: float = 0.25
    scannable: float = 0.35
    second_scan: float = 0.15
    constants: float = 0.2
    nulls: float = NULL_SHARE
    empty: float = 0.02
    key: float = 0.2
    limit: float = 0.0
    right: float = 0.3  # share of instances with right sides of left, semi and anti joins
    unlinked: float = 0.0  # share of these right sides that inequalities alone join
    max_rows: int = 6


DEFAULT = Knobs()


@dataclass(frozen=True)
class Instance:
    """One block with its data. `rows[t]` are the rows of table t; `sql` says the same to DuckDB."""

    seed: int
    plan: BlockPlan
    rows: tuple[tuple[Row, ...], ...]
    sql: str = field(repr=False)

    def describe(self) -> str:
        """Everything needed to see the case with one's own eyes."""
        lines = [f"seed {self.seed}", self.sql]
        for number, (table, rows) in enumerate(zip(self.plan.tables, self.rows, strict=True)):
            access = [scan.name for scan in table.scans]
            access += [
                f"{item.name}{list(item.columns)}x{item.batch_size} window {item.window}"
                for item in table.lookups
            ]
            kinds = ", ".join(f"{column.name} {column.type}" for column in table.columns)
            key = f" {list(table.key)}" if table.key else ""
            lines.append(
                f"table {number} {table.name} ({kinds}) by {', '.join(access)}; identity {table.identity}{key}"
            )
            lines += [f"    {row}" for row in rows]
        for number, alias in enumerate(self.plan.aliases):
            role = "active" if alias.active else "passive"
            seeds = "".join(f" seed of lookup {seed.lookup}: {seed.keys}" for seed in alias.seeds)
            pinned = f" constants {alias.constants}" if alias.constants else ""
            links = "".join(f" {own} = {other.alias}.{other.index}" for own, other in alias.links)
            lines.append(
                f"alias {number} {alias.name} of table {alias.table}: {alias.kind} {role}{seeds}{pinned}{links}"
            )
        lines += [
            f"equal: {' = '.join(f'{c.alias}.{c.index}' for c in group.members)}"
            for group in self.plan.equalities
        ]
        lines += [
            f"{'module' if item.module else 'inline'}{'' if item.on is None else f' ON of {item.on}'}: {item.text}"
            for item in self.plan.predicates
        ]
        lines.append(f"output {[(c.alias, c.index) for c in self.plan.output]} limit {self.plan.limit}")
        return "\n".join(lines)


def generate(seed: int, knobs: Knobs = DEFAULT) -> Instance:
    """The feasible instance of a seed: infeasible drafts are thrown away until one is feasible."""
    rng, right = random.Random(f"instance {seed}"), random.Random(f"right sides {seed}")
    while True:
        instance = _Draft(rng, knobs, right.random() < knobs.right).instance(seed)
        if instance is not None:
            return instance


def feasible(plan: BlockPlan) -> bool:
    """Nail's check: from the active aliases, add every alias some lookup of which is bound, until nothing changes."""
    inner = {number for number, alias in enumerate(plan.aliases) if alias.kind == "inner"}
    reached = {number for number in inner if plan.aliases[number].active}
    grown = bool(reached)
    while grown:
        grown = False
        for number in inner - reached:
            if any(
                _bound(plan, number, lookup, reached)
                for lookup in plan.tables[plan.aliases[number].table].lookups
            ):
                reached.add(number)
                grown = True
    return reached == inner and all(
        alias.active
        or any(
            {column for column, _ in (*alias.constants, *alias.links)} >= {*lookup.columns}
            for lookup in plan.tables[alias.table].lookups
        )
        for alias in plan.aliases
        if alias.kind != "inner"
    )


def _bound(plan: BlockPlan, alias: int, lookup: LookupPlan, reached: set[int]) -> bool:
    pinned = {column for column, _ in plan.aliases[alias].constants}

    def has_binder(index: int) -> bool:
        if index in pinned:
            return True
        groups = [group.members for group in plan.equalities if Column(alias, index) in group.members]
        return any(member.alias in reached for members in groups for member in members)

    return all(has_binder(index) for index in lookup.columns)


class _Draft:
    """One attempt: decisions are made top to bottom, then assembled."""

    def __init__(self, rng: random.Random, knobs: Knobs, right: bool) -> None:
        self.rng = rng
        self.right = right
        self.knobs = knobs
        self.count = rng.choice(knobs.aliases)
        self.tables = self.count
        if self.count > 1 and self.chance(knobs.self_join):
            self.tables = rng.choice([self.count - 1, self.count - 1, rng.randint(1, self.count - 1)])
        self.table_of = list(range(self.tables)) + [
            rng.randrange(self.tables) for _ in range(self.count - self.tables)
        ]
        self.domain = rng.choice([2, 2, 2, 3, 3, 4])
        kinds = ["bigint", rng.choice(knobs.kinds)] if self.chance(knobs.typed) else ["bigint"]
        self.kinds = [[rng.choice(kinds) for _ in range(3)] for _ in range(self.tables)]
        self.edges: list[tuple[Column, Column]] = []
        self.predicates: list[tuple[Expr, bool]] = []
        self.on: list[tuple[Expr, int]] = []
        self.kinds_of: list[JoinKind] = ["inner"] * self.count
        self.links: dict[int, list[tuple[int, Column]]] = {}
        self.inner = self.count  # aliases that inner joins connect
        self.constants: dict[Column, tuple[Value, ...]] = {}

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def kind(self, column: Column) -> str:
        return self.kinds[self.table_of[column.alias]][column.index]

    def instance(self, seed: int) -> Instance | None:
        """The assembled instance, or None when no order of fetching can answer it."""
        self.draw_edges()
        self.draw_constants()
        self.draw_predicates()
        self.draw_right_sides()
        rows = self.draw_rows()
        groups = classes(self.edges)
        tables = tuple(self.table(number, rows[number], groups) for number in range(self.tables))
        aliases = tuple(self.alias(number, tables, groups) for number in range(self.count))
        plan = BlockPlan(
            tables=tables,
            aliases=aliases,
            equalities=tuple(EqualityClass(group) for group in groups),
            predicates=(
                *(Predicate(expr, render(expr), module) for expr, module in self.predicates),
                *(Predicate(expr, render(expr), on=alias) for expr, alias in self.on),
            ),
            output=self.output(),
            limit=self.rng.randint(0, 6) if self.chance(self.knobs.limit) else None,
        )
        return Instance(seed, plan, rows, sql_of(plan, self.edges)) if feasible(plan) else None

    # ------------------------------------------------------------------------------------------------- join graph

    def draw_edges(self) -> None:
        for right in range(1, self.count):
            if not self.chance(self.knobs.missing_edge):
                self.add_edge(self.rng.randrange(right), right)
            if self.chance(0.15):
                self.add_edge(
                    self.rng.randrange(right), right
                )  # S.x = R.a AND S.y = R.b: lookups on two columns
        while self.chance(self.knobs.extra_edge):
            left, right = self.rng.randrange(self.count), self.rng.randrange(self.count)
            if left != right or self.chance(0.3):
                self.add_edge(left, right)

    def add_edge(self, left: int, right: int) -> None:
        pairs = [
            (Column(left, i), Column(right, j))
            for i, j in product(range(3), range(3))
            if (left, i) != (right, j) and comparable(self.kind(Column(left, i)), self.kind(Column(right, j)))
        ]
        if pairs:
            self.edges.append(self.rng.choice(pairs))

    def draw_constants(self) -> None:
        """`column = value` and `column IN (values)`: selections that may also seed a lookup."""
        while self.chance(self.knobs.constants):
            column = Column(self.rng.randrange(self.count), self.rng.randrange(3))
            if column in self.constants:
                continue
            arrow = self.field(column).arrow
            if self.chance(0.5):
                value = self.value(column)
                self.constants[column] = (value,)
                expr: Expr = Compare("=", column, Literal(value, arrow))
            else:
                values = tuple(self.value(column) for _ in range(self.rng.randint(1, 3)))
                if self.chance(0.15):
                    values = (*values, None)
                self.constants[column] = tuple(value for value in values if value is not None)
                expr = InList(column, values, arrow)
            self.predicates.append((expr, self.chance(0.3)))

    def draw_predicates(self) -> None:
        while self.chance(self.knobs.predicate):
            expr = self.rng.choice([self.selection, self.comparison, self.comparison, self.disjunction])()
            if expr is not None:
                self.predicates.append((expr, self.chance(0.4)))

    def selection(self, among: Sequence[int] = ()) -> Expr:
        column = Column(self.rng.choice(among or range(self.count)), self.rng.randrange(3))
        if self.chance(0.25):
            return IsNull(column) if self.chance(0.3) else Not(IsNull(column))
        op = self.rng.choice(["<", "<=", ">", ">=", "<>", "<=>", *(["="] * 3 if among else [])])
        compare = Compare(op, column, Literal(self.value(column), self.field(column).arrow))  # type: ignore[arg-type]
        return Not(compare) if self.chance(0.2) else compare

    def comparison(self, among: Sequence[int] = ()) -> Expr | None:
        left, right = (
            Column(self.rng.choice(among or range(self.count)), self.rng.randrange(3)) for _ in range(2)
        )
        if left == right or self.field(left).type != self.field(right).type:
            return None
        op = self.rng.choice(["<", "<=", ">", "<>", "<>", "=", "<=>"])
        return Compare(op, left, right)  # type: ignore[arg-type]

    def disjunction(self) -> Expr | None:
        items = [
            self.rng.choice([self.selection, self.comparison])() for _ in range(self.rng.choice([2, 2, 3]))
        ]
        known = tuple(item for item in items if item is not None)
        return Or(known) if len(known) > 1 else None

    # ------------------------------------------------------------------------------------------------ right sides

    def draw_right_sides(self) -> None:
        """Left, semi and anti joins behind the inner ones, each with an ON condition of its own."""
        for _ in range(self.rng.choice([1, 1, 2, 2, 3]) if self.right else 0):
            alias = self.count
            if self.chance(0.25):
                self.table_of.append(self.rng.randrange(self.tables))
            else:
                self.table_of.append(self.tables)
                self.tables += 1
                self.kinds.append([self.rng.choice(self.kinds[0]) for _ in range(3)])
            self.kinds_of.append(self.rng.choice(["left", "left", "semi", "anti"]))
            self.count += 1
            unlinked = bool(self.knobs.unlinked) and self.chance(self.knobs.unlinked)
            self.links[alias] = [] if unlinked else list(self.draw_links(alias))
            while self.chance(0.75 if unlinked else 0.35):
                expr = self.rng.choice([self.selection, self.comparison])(self.visible(alias))
                if expr is not None:
                    self.on.append((expr, alias))
            while self.kinds_of[alias] == "left" and self.chance(0.3):
                column = Column(alias, self.rng.randrange(3))
                expr = IsNull(column) if self.chance(0.5) else self.selection([alias])
                if self.chance(0.3):
                    expr = self.comparison(self.visible(alias)) or expr
                self.predicates.append((expr, self.chance(0.4)))

    def draw_links(self, alias: int) -> Iterator[tuple[int, Column]]:
        before = [one for one in self.visible(alias) if one != alias]
        for _ in range(self.rng.choice([1, 1, 1, 1, 2, 2, 0])):
            other = Column(self.rng.choice(before), self.rng.randrange(3))
            own = self.rng.randrange(3)
            if comparable(self.kind(Column(alias, own)), self.kind(other)):
                yield own, other

    def visible(self, alias: int) -> list[int]:
        """What the ON condition of a right side may read, itself too: semi and anti joins let nothing through."""
        return [one for one in range(alias + 1) if one == alias or self.kinds_of[one] in ("inner", "left")]

    # ------------------------------------------------------------------------------------------------------- data

    def field(self, column: Column) -> Field:
        return Field.of(f"c{column.index}", SPARK_TYPE.get(self.kind(column), self.kind(column)))

    def value(self, column: Column) -> Value:
        return self.draw(self.kind(column))

    def draw(self, kind: str) -> Value:
        value = DOMAINS[kind][self.rng.randrange(self.domain)]
        return -0.0 if kind == "double" and value == 0.0 and self.chance(0.4) else value

    def draw_rows(self) -> tuple[tuple[Row, ...], ...]:
        tables, most = [], self.knobs.max_rows
        for number in range(self.tables):
            size = 0 if self.chance(self.knobs.empty) else self.rng.randint((most + 1) // 2, most)
            if size and self.chance(0.3):
                size = self.rng.randint(1, size)
            tables.append([self.row(number) for _ in range(size)])
        while _combinations(tables, self.table_of) > MAX_COMBINATIONS:
            max(tables, key=len).pop()
        return tuple(tuple(rows) for rows in tables)

    def row(self, table: int) -> Row:
        return tuple(None if self.chance(self.knobs.nulls) else self.draw(kind) for kind in self.kinds[table])

    # ----------------------------------------------------------------------------------------------------- access

    def table(self, number: int, rows: tuple[Row, ...], groups: list[tuple[Column, ...]]) -> TablePlan:
        scans, lookups = self.scans(number), self.lookups(number, groups)
        if not scans and not lookups:
            scans = (ScanPlan("scan0"),)
        key = self.key(rows) if self.chance(self.knobs.key) else ()
        only_one = len(scans) + len(lookups) == 1
        return TablePlan(
            name=f"web.t{number}",
            columns=tuple(
                Field.of(f"c{index}", SPARK_TYPE.get(kind, kind))
                for index, kind in enumerate(self.kinds[number])
            ),
            scans=scans,
            lookups=lookups,
            identity="key" if key else "position" if only_one else "value",
            key=key,
        )

    def scans(self, number: int) -> tuple[ScanPlan, ...]:
        if number > 0 and not self.chance(self.knobs.scannable):
            return ()
        return tuple(
            ScanPlan(f"scan{index}") for index in range(2 if self.chance(self.knobs.second_scan) else 1)
        )

    def lookups(self, number: int, groups: list[tuple[Column, ...]]) -> tuple[LookupPlan, ...]:
        """Index access methods over columns that something could bind."""
        bindable = {
            column.index for group in groups for column in group if self.table_of[column.alias] == number
        }
        bindable |= {column.index for column in self.constants if self.table_of[column.alias] == number}
        bindable |= {
            own for alias, links in self.links.items() if self.table_of[alias] == number for own, _ in links
        }
        result = []
        for index in range(self.rng.randint(0, 2) if bindable else 0):
            size = 2 if len(bindable) > 1 and self.chance(0.4) else 1
            result.append(
                LookupPlan(
                    name=f"lookup{index}",
                    columns=tuple(self.rng.sample(sorted(bindable), size)),
                    batch_size=self.rng.randint(1, 3),
                    window=self.rng.choice([1, 2, 16]),
                )
            )
        return tuple(result)

    def key(self, rows: tuple[Row, ...]) -> tuple[int, ...]:
        """Columns holding no NULL and no value twice: one, or two, or none."""
        choices = [(0,), (1,), (2,), (0, 1), (1, 2)]
        for columns in self.rng.sample(choices, len(choices)):
            values = [tuple(row[index] for index in columns) for row in rows]
            if len({normal(value) for value in values}) == len(rows) and not any(
                None in value for value in values
            ):
                return columns
        return ()

    def alias(
        self, number: int, tables: tuple[TablePlan, ...], groups: list[tuple[Column, ...]]
    ) -> AliasPlan:
        table = tables[self.table_of[number]]
        kind = self.kinds_of[number]
        if kind != "inner":
            return AliasPlan(
                name=f"a{number}",
                table=self.table_of[number],
                active=bool(table.scans),
                constants=tuple(
                    (expr.left.index, expr.right.value)
                    for expr, on in self.on
                    if on == number and isinstance(expr, Compare) and expr.op == "="
                    if isinstance(expr.left, Column) and expr.left.alias == number
                    if isinstance(expr.right, Literal)
                ),
                kind=kind,
                links=tuple(self.links[number]),
            )
        seeds = self.seeds(number, table, groups) if self.chance(0.3 if table.scans else 0.8) else ()
        constants = tuple(
            (index, values[0])
            for index in range(3)
            if (values := self.constant(Column(number, index), groups)) is not None and len(values) == 1
        )
        return AliasPlan(
            name=f"a{number}",
            table=self.table_of[number],
            active=bool(table.scans or seeds),
            seeds=seeds,
            constants=constants if self.chance(0.8) else (),
        )

    def seeds(self, alias: int, table: TablePlan, groups: list[tuple[Column, ...]]) -> tuple[Seed, ...]:
        """One seed of a lookup all of whose columns have constants, their own or those of an equal column."""
        options = []
        for index, lookup in enumerate(table.lookups):
            values = [self.constant(Column(alias, column), groups) for column in lookup.columns]
            if all(value is not None for value in values):
                options.append(Seed(index, tuple(product(*(value for value in values if value is not None)))))
        return (self.rng.choice(options),) if options else ()

    def constant(self, column: Column, groups: list[tuple[Column, ...]]) -> tuple[Value, ...] | None:
        if column in self.constants:
            return self.constants[column]
        group = next((group for group in groups if column in group), ())
        return next((self.constants[member] for member in group if member in self.constants), None)

    # ------------------------------------------------------------------------------------------------ output

    def output(self) -> tuple[Column, ...]:
        every = [Column(alias, index) for alias in self.visible(self.count - 1) for index in range(3)]
        if self.kinds_of[-1] in ("semi", "anti"):
            every = every[:-3]
        if self.chance(0.75):
            return tuple(every)
        return tuple(self.rng.choices(every, k=self.rng.randint(1, 4)))


def _combinations(tables: list[list[Row]], table_of: list[int]) -> int:
    result = 1
    for table in table_of:
        result *= max(1, len(tables[table]))
    return result


def comparable(left: str, right: str) -> bool:
    """Whether two kinds may stand in one equality class: integers of any width, else the same type."""
    integers = {"bigint", "int", "extreme"}
    return left == right or {left, right} <= integers


def classes(edges: list[tuple[Column, Column]]) -> list[tuple[Column, ...]]:
    """Equality classes by union-find."""
    parent: dict[Column, Column] = {}

    def find(column: Column) -> Column:
        parent.setdefault(column, column)
        while parent[column] != column:
            column = parent[column]
        return column

    for left, right in edges:
        parent[find(left)] = find(right)
    groups: dict[Column, list[Column]] = {}
    for column in parent:
        groups.setdefault(find(column), []).append(column)
    return [tuple(group) for group in groups.values()]


def normal(value: Value) -> Value:
    """A value under which equal SQL values are equal Python values: NaN is itself, -0.0 is 0.0, tuples by element."""
    if isinstance(value, tuple):
        return tuple(normal(item) for item in value)
    if isinstance(value, float):
        return "NaN" if value != value else value + 0.0  # noqa: PLR0124 - the test for NaN
    return value


# ------------------------------------------------------------------------------------------------------ rendering


def sql_of(plan: BlockPlan, edges: Sequence[tuple[Column, Column]] | None = None) -> str:
    """The block as SQL for DuckDB, its equalities as they were drawn, or else as chains of the classes' members."""
    if edges is None:
        edges = [(group.members[0], member) for group in plan.equalities for member in group.members[1:]]
    columns = ", ".join(f"{render(column)} AS o{number}" for number, column in enumerate(plan.output))
    tables = " CROSS JOIN ".join(
        f"t{alias.table} AS {alias.name}" for alias in plan.aliases if alias.kind == "inner"
    )
    for number, alias in enumerate(plan.aliases):
        if alias.kind != "inner":
            on = [f"{render(Column(number, own))} = {render(other)}" for own, other in alias.links]
            on += [f"({predicate.text})" for predicate in plan.predicates if predicate.on == number]
            condition = " AND ".join(on) or "1 = 1"
            tables += f" {alias.kind.upper()} JOIN t{alias.table} AS {alias.name} ON {condition}"
    conjuncts = [f"{render(left)} = {render(right)}" for left, right in edges]
    conjuncts += [f"({predicate.text})" for predicate in plan.predicates if predicate.on is None]
    return f"SELECT {columns} FROM {tables}" + (f" WHERE {' AND '.join(conjuncts)}" if conjuncts else "")


def render(expr: Expr) -> str:
    """An expression as SQL for DuckDB."""
    match expr:
        case Column(alias=alias, index=index):
            return f"a{alias}.c{index}"
        case Literal(value=value):
            return render_value(value)
        case Compare(op=op, left=left, right=right):
            word = "IS NOT DISTINCT FROM" if op == "<=>" else op
            return f"{render(left)} {word} {render(right)}"
        case InList(item=item, values=values):
            return f"{render(item)} IN ({', '.join(render_value(value) for value in values)})"
        case IsNull(item=item):
            return f"{render(item)} IS NULL"
        case Not(item=item):
            return f"NOT ({render(item)})"
        case Or(items=items):
            return " OR ".join(f"({render(item)})" for item in items)
    raise AssertionError(expr)


def render_value(value: Value) -> str:
    """A constant as SQL for DuckDB."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return f"CAST('{value}' AS DOUBLE)"
    if isinstance(value, date):
        return f"DATE '{value}'"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(value)
