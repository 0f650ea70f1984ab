"""What all branches of an OR share: (A AND B) OR (A AND C) is true only where A is, and that joins, filters and binds keys.

Two kinds of conditions follow from an OR, each beside it and never in its place:

- what every branch demands: A above;
- for one table, the OR of what each branch demands of it alone: from (a.x = 1 AND b.y = 2) OR (a.x = 3 AND b.y = 4)
  follows a.x = 1 OR a.x = 3.

A row passes WHERE or an inner join's ON where the condition is TRUE, neither FALSE nor NULL. An OR is TRUE where one of its
branches is TRUE, an AND where all of its parts are. So where the OR is TRUE every part of one branch is TRUE, thus A, and
so is what that branch demands of one table: to demand it first leaves out no row, NULLs or not. Whether an error in B is
raised for a row that fails A depends on the order of evaluation, in Spark too, which takes A out likewise
(BooleanSimplification, and CNF for predicates of one side of a join).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeAlias

from fff.sql.syntax.statement import Node, exp, operands
from fff.structs import Struct

#: Which table a column is of; None where that cannot be told.
Owner: TypeAlias = Callable[[Node], Hashable | None]


def _always(_: Node) -> bool:
    return True


def follows(node: Node, owner: Owner, usable: Callable[[Node], bool] = _always) -> list[Node]:
    """The conditions that are true wherever a condition is, if it is an OR; those of its own tree stand in the text.

    Of what a branch demands of a table any part may be left out: what is not `usable`, say.
    """
    bare = node.unnest()
    implied = _Sharing(owner, usable).shared(bare) if isinstance(bare, exp.Or) else []
    for one in implied:
        if one.parent is None:
            one.parent = bare.parent  # what is made here stands where the OR does
    return implied


class _Sharing(Struct, frozen=True):
    owner: Owner
    usable: Callable[[Node], bool]

    def shared(self, node: Node) -> list[Node]:
        parts = operands(node)
        if not any(isinstance(part, exp.And | exp.Or) for part in parts):
            return []  # `x = 1 OR x = 2`: branches of one condition each share nothing
        branches = [{_key(fact): fact for fact in self._facts(part)} for part in parts]
        common = set(branches[0]).intersection(*branches[1:])
        implied = [fact for key, fact in branches[0].items() if key in common]
        rest = [[fact for key, fact in branch.items() if key not in common] for branch in branches]
        if len({self.owner(column) for column in node.find_all(exp.Column)}) > 1:
            implied += self._by_owner(rest)  # of one table, the OR itself says it
        return implied

    def _facts(self, node: Node) -> list[Node]:
        """What must be true for a condition to be."""
        bare = node.unnest()
        if isinstance(bare, exp.And):
            return [fact for part in operands(bare) for fact in self._facts(part)]
        if bare.find(exp.Query):
            return []
        return [bare, *self.shared(bare)] if isinstance(bare, exp.Or) else [bare]

    def _by_owner(self, branches: Sequence[Sequence[Node]]) -> list[Node]:
        """For each table of which every branch demands something by itself: the OR of that."""
        demands: list[dict[Hashable, list[Node]]] = []
        for branch in branches:
            mine: dict[Hashable, list[Node]] = {}
            for fact in branch:
                owners = {self.owner(column) for column in fact.find_all(exp.Column)}
                one = owners.pop() if len(owners) == 1 else None
                if one is not None and self.usable(fact):
                    mine.setdefault(one, []).append(fact)
            demands.append(mine)
        shared = [one for one in demands[0] if all(one in mine for mine in demands)]
        return [exp.or_(*(exp.and_(*mine[one]) for mine in demands)) for one in shared]


def _key(node: Node) -> str:
    """Equal for conditions that say the same in the same words, whichever side of = they stand on."""
    if isinstance(node, exp.EQ):
        return " = ".join(sorted(_text(side) for side in (node.this, node.expression)))
    return _text(node)


def _text(node: Node) -> str:
    return node.unnest().sql("spark", normalize=True, comments=False)
