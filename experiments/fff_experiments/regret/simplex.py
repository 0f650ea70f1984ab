"""The simplex method (Dantzig; Bland's rule against cycles), for the few dozen unknowns of a clairvoyant's bound."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

_EPSILON = 1e-9


class InfeasibleError(ArithmeticError):
    """No point satisfies every constraint."""


def minimise(
    costs: Sequence[float],
    at_most: Sequence[tuple[Sequence[float], float]],
    equal: Sequence[tuple[Sequence[float], float]],
) -> float:
    """The least costs @ x over x >= 0 with row @ x <= bound, and row @ x == value; bounds and values are at least 0.

    Raises:
        InfeasibleError: there is no such x. An optimum is taken to exist otherwise.
    """
    unknowns, slacks, rows = len(costs), len(at_most), len(at_most) + len(equal)
    table = np.zeros((rows, unknowns + slacks + len(equal) + 1))
    for number, (row, bound) in enumerate([*at_most, *equal]):
        assert bound >= 0
        table[number, :unknowns] = row
        table[number, -1] = bound
        # A slack, or in an equality an artificial variable, that starts as the basis.
        table[number, unknowns + number] = 1.0
    basis = list(range(unknowns, unknowns + rows))
    width = table.shape[1] - 1
    artificial = np.zeros(width)
    artificial[unknowns + slacks :] = 1.0
    if _optimise(table, basis, artificial, width) > _EPSILON * max(1.0, float(np.abs(table[:, -1]).max())):
        raise InfeasibleError
    for place, basic in enumerate(basis):
        if basic >= unknowns + slacks:  # zero, and has to stay so: something real takes its place
            _pivot(table, basis, place, int(np.argmax(np.abs(table[place, : unknowns + slacks]))))
    real = np.zeros(width)
    real[:unknowns] = costs
    return _optimise(table, basis, real, unknowns + slacks)


def _optimise(
    table: npt.NDArray[np.float64], basis: list[int], costs: npt.NDArray[np.float64], usable: int
) -> float:
    """Pivot until no column below `usable` makes it cheaper; the cost then."""
    while True:
        reduced = costs - costs[basis] @ table[:, :-1]
        entering = next((column for column in range(usable) if reduced[column] < -_EPSILON), None)
        if entering is None:
            return float(costs[basis] @ table[:, -1])
        column = table[:, entering]
        ratios = [
            (table[row, -1] / column[row], basis[row], row)
            for row in range(len(basis))
            if column[row] > _EPSILON
        ]
        assert ratios, "the minimum is unbounded"
        _, _, leaving = min(ratios)
        _pivot(table, basis, leaving, entering)


def _pivot(table: npt.NDArray[np.float64], basis: list[int], leaving: int, entering: int) -> None:
    """The variable of a column takes the place of a row's."""
    table[leaving] /= table[leaving, entering]
    for row in range(len(basis)):
        if row != leaving:
            table[row] -= table[row, entering] * table[leaving]
    basis[leaving] = entering
