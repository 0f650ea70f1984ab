"""The naive pre-optimizer of 2000: a spanning tree of the query graph, and a join algorithm for each of its edges.

S1 section 3.1.1: Cartesian products over tables known to be tiny, then any equijoins, then any other
predicates. An equijoin goes through an index where there is one, else through a hash ripple join; anything
else through a block ripple join. Predicates beside the tree are residual: evaluated where the tuples that
they are about meet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from fff.errors import InfeasibleQuery
from fff_experiments.classic.joins import BlockRippleJoin, HashRippleJoin, IndexJoin
from fff_experiments.classic.modules import Join, Module, Selection
from fff_experiments.classic.query import ClassicIndex, ClassicQuery, JoinPredicate

#: Tuples in a block of a block ripple join.
BLOCK = 32


@dataclass(frozen=True)
class Edge:
    """An edge of the spanning tree.

    No predicate: a Cartesian product. `inner`: the alias that is asked by index.
    """

    sides: tuple[int, int]
    predicate: JoinPredicate | None
    inner: int | None = None


class _Growth:
    """Components of the query graph that grow together (Kruskal)."""

    def __init__(self, query: ClassicQuery) -> None:
        self._query = query
        self._component = list(range(len(query.relations)))
        self.edges: list[Edge] = []
        self.inner: set[int] = set()  # aliases that are asked by index and not scanned

    def apart(self, one: int, other: int) -> bool:
        return self._component[one] != self._component[other]

    def add(self, edge: Edge) -> None:
        one, other = edge.sides
        old, new = self._component[one], self._component[other]
        self._component = [new if part == old else part for part in self._component]
        self.edges.append(edge)
        if edge.inner is not None:
            self.inner.add(edge.inner)

    def indexed(self, predicate: JoinPredicate, alias: int) -> bool:
        return predicate.op == "=" and any(
            index.column == predicate.column_of(alias) for index in self._query.relations[alias].indexes
        )


def spanning_tree(query: ClassicQuery) -> tuple[Edge, ...]:
    """The joins of the plan.

    Raises:
        InfeasibleQuery: a relation without a scan cannot be reached through any of its indexes.
    """
    growth = _Growth(query)
    relations = query.relations
    _reach_unscanned(query, growth)
    tiny = [alias for alias, relation in enumerate(relations) if relation.tiny and relation.scan is not None]
    for one, other in pairwise(tiny):
        if growth.apart(one, other):
            growth.add(Edge((one, other), None))
    for predicate in sorted(query.joins, key=lambda predicate: predicate.op != "="):
        one, other = predicate.left.alias, predicate.right.alias
        if growth.apart(one, other):
            inner = next(
                (a for a in (other, one) if growth.indexed(predicate, a) and a not in growth.inner), None
            )
            growth.add(Edge((one, other), predicate, inner))
    for alias in range(1, len(relations)):
        if growth.apart(0, alias):
            growth.add(Edge((0, alias), None))
    return tuple(growth.edges)


def _reach_unscanned(query: ClassicQuery, growth: _Growth) -> None:
    """Index joins into relations that have no scan, from what is reached already."""
    reached = {alias for alias, relation in enumerate(query.relations) if relation.scan is not None}
    while len(reached) < len(query.relations):
        for predicate in query.joins:
            one, other = predicate.left.alias, predicate.right.alias
            inner = other if one in reached else one
            if (one in reached) != (other in reached) and growth.indexed(predicate, inner):
                growth.add(Edge((one, other), predicate, inner))
                reached.add(inner)
                break
        else:
            lost = ", ".join(r.name for alias, r in enumerate(query.relations) if alias not in reached)
            raise InfeasibleQuery(f"nothing binds an index of {lost}, and there is no scan")


def modules_of(
    query: ClassicQuery, edges: Sequence[Edge], capacity: int
) -> tuple[list[Module], frozenset[int]]:
    """A module for each selection and for each edge, and the aliases that are scanned."""
    modules: list[Module] = [Selection(predicate, capacity) for predicate in query.selections]
    modules.extend(_join(query, edge, capacity) for edge in edges)
    inner = {edge.inner for edge in edges}
    return modules, frozenset(alias for alias in range(len(query.relations)) if alias not in inner)


def _join(query: ClassicQuery, edge: Edge, capacity: int) -> Join:
    one, other = (query.relations[alias].name for alias in edge.sides)
    residual = [predicate for predicate in query.joins if predicate is not edge.predicate]
    if edge.predicate is None or edge.predicate.op != "=":
        return BlockRippleJoin(
            f"{one}{other}", capacity, edge.sides, cost=query.join_cost, block=BLOCK, predicates=query.joins
        )
    if edge.inner is None:
        return HashRippleJoin(f"{one}{other}", capacity, edge.predicate, query.join_cost, residual)
    relation = query.relations[edge.inner]
    index: ClassicIndex = next(
        i for i in relation.indexes if i.column == edge.predicate.column_of(edge.inner)
    )
    return IndexJoin(
        f"{one}{other}",
        capacity,
        edge.predicate,
        inner=edge.inner,
        rows=relation.rows,
        index=index,
        aliases=len(query.relations),
        residual=residual,
    )
