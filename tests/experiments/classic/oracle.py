"""What the answer of a query is, by looking at every combination of rows; and random queries to ask."""

from __future__ import annotations

import itertools
import random
from collections import Counter

from fff.dataflow.plan.expressions import Column
from fff_experiments.classic.query import (
    ClassicIndex,
    ClassicQuery,
    ClassicRelation,
    ClassicScan,
    JoinPredicate,
    Row,
    Rows,
    SelectionPredicate,
)

COLUMNS = 2


def brute_force(query: ClassicQuery) -> Counter[Rows]:
    """The answer as a bag: every combination that all predicates are true of."""
    return Counter(
        rows
        for rows in itertools.product(*(relation.rows for relation in query.relations))
        if all(predicate.holds(rows) for predicate in query.joins)
        and all(selection.test(rows[selection.alias]) for selection in query.selections)
    )


def random_rows(rng: random.Random, most: int = 8) -> list[Row]:
    values = [None, 0, 1, 2, 2, 3]
    return [tuple(rng.choice(values) for _ in range(COLUMNS)) for _ in range(rng.randint(most // 4, most))]


def random_query(rng: random.Random) -> ClassicQuery:
    """2 to 4 relations, joined as a tree with now and then a cycle, some by index only, NULLs and duplicates."""
    count = rng.randint(2, 4)
    joins = []
    indexed: dict[int, set[int]] = {alias: set() for alias in range(count)}
    for alias in range(1, count):
        left = Column(rng.randrange(alias), rng.randrange(COLUMNS))
        right = Column(alias, rng.randrange(COLUMNS))
        op = "=" if rng.random() < 0.8 else rng.choice(["<", ">=", "<>"])
        joins.append(JoinPredicate(left, right, op))
        if op == "=" and rng.random() < 0.4:
            indexed[alias].add(right.index)
    if count > 2 and rng.random() < 0.4:
        one, other = rng.sample(range(count), 2)
        joins.append(
            JoinPredicate(Column(one, rng.randrange(COLUMNS)), Column(other, rng.randrange(COLUMNS)))
        )
    rng.shuffle(joins)
    relations = []
    for alias in range(count):
        indexes = tuple(
            ClassicIndex(column, rng.choice([0.5, 3.0]), 0.1, rng.randint(1, 3), rng.random() < 0.7)
            for column in sorted(indexed[alias])
        )
        scan = ClassicScan(rng.choice([0.0, 5.0]), rng.choice([0.0, 0.7]))
        only_index = bool(indexes) and rng.random() < 0.6
        tiny = rng.random() < 0.2
        relations.append(
            ClassicRelation("RSTU"[alias], random_rows(rng), None if only_index else scan, indexes, tiny)
        )
    selections = tuple(
        SelectionPredicate(
            f"s{number}", rng.randrange(count), lambda row: row[0] != 1, rng.choice([0.5, 2.0])
        )
        for number in range(rng.randint(0, 2))
    )
    return ClassicQuery(tuple(relations), tuple(joins), selections)
