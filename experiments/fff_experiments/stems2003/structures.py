"""SteMs 2003, section 3.1: the index of a real SteM goes from one data structure to another as the load asks."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from fff.dataflow.arrays import Growable
from fff.dataflow.store.index import NumberIndex
from fff_experiments.experiment import Check, Curve, Experiment, Findings, Panel, TrialRequest

ROWS, PAGE = 24_000, 500
REPEATS = (1, 4, 16, 64)
#: Batches that probe when all is built: seldom, often.
LATER = (0, 100)
#: Each is the best of so many.
TIMES = 3

_Numbers = np.ndarray[tuple[int], np.dtype[np.int64]]


class _ChainsOnly(NumberIndex):
    """Never settles."""

    def _settle(self) -> None:
        pass


class _RunsOnly(NumberIndex):
    """Settles whenever rows have come."""

    def _catch_up(self) -> None:
        grown = self._next.length < len(self)
        super()._catch_up()
        if grown and self._settled < len(self):
            self._settle()


_Make = Callable[[Growable[np.int64]], NumberIndex]


def _seconds(make: _Make, pages: list[_Numbers], probes: list[_Numbers]) -> float:
    """Build page by page, while few rows probe; then others do."""
    numbers = Growable(np.int64)
    index = make(numbers)
    began = time.process_time()
    for page in pages:
        numbers.append(page)
        index.match(page[: PAGE // 10])
    for probe in probes:
        index.match(probe)
    return time.process_time() - began


def _adapting(trial: TrialRequest) -> Findings:
    kinds: dict[str, _Make] = {"adapts": NumberIndex, "chains": _ChainsOnly, "runs": _RunsOnly}
    if trial.control:
        kinds["adapts"] = kinds[trial.control]
    rows = trial.some(ROWS, 4 * PAGE)
    rng = np.random.default_rng(trial.seed)
    took: dict[tuple[str, int, int], float] = {}
    for repeats in REPEATS:
        pages = np.split(rng.integers(0, rows // repeats, rows), range(PAGE, rows, PAGE))
        for later in LATER:
            probes = [rng.integers(0, rows // repeats, PAGE) for _ in range(later)]
            for name, make in kinds.items():
                took[name, repeats, later] = 1e3 * min(_seconds(make, pages, probes) for _ in range(TIMES))
    often = LATER[-1]
    settled = [took["adapts", repeats, often] / took["chains", repeats, often] for repeats in REPEATS[2:]]
    plain = [took["adapts", 1, later] / took["chains", 1, later] for later in LATER]
    spared = [took["adapts", 1, later] / took["runs", 1, later] for later in LATER]
    return Findings(
        columns=(
            "rows with each value",
            "batches that probe",
            "adapts [ms]",
            "chains only [ms]",
            "runs only [ms]",
        ),
        rows=tuple(
            (repeats, later, *(took[name, repeats, later] for name in kinds))
            for later in LATER
            for repeats in REPEATS
        ),
        panels=tuple(
            Panel(
                f"{rows:,} rows are built, then {later} batches probe",
                "rows with each value",
                "time [ms]",
                tuple(Curve(name, REPEATS, [took[name, one, later] for one in REPEATS]) for name in kinds),
                log_x=True,
                log_y=True,
            )
            for later in LATER
        ),
        checks=(
            Check(
                "where values repeat and many probe, the index has changed into runs",
                "with 16 and 64 rows to a value at most 0.9 times the time of chains",
                f"{', '.join(f'{one:.2f}' for one in settled)} times",
                passed=max(settled) <= 0.9,
            ),
            Check(
                "where they do not, it stays with chains",
                "with one row to a value at most 1.3 times the time of chains, and a quarter of that of runs",
                f"{', '.join(f'{one:.2f}' for one in plain)} times; {', '.join(f'{one:.2f}' for one in spared)} times",
                passed=max(plain) <= 1.3 and max(spared) <= 0.25,
            ),
        ),
        notes=(
            (
                f"The index of the real SteM: {rows:,} rows come in pages of {PAGE}, and after each page a tenth of them probe; when all are "
                f"there, batches of {PAGE} do. Chains are walked entry by entry; runs are sorted, so that a probe costs an interval, and are "
                "made anew as rows come. The index starts with chains and settles into runs once values have four rows: that is lost where "
                "nobody probes later."
            ),
        ),
    )


EXPERIMENTS = (
    Experiment(
        "S-10",
        "the index of a SteM changes its data structure",
        "SteMs 2003, section 3.1",
        "real time",
        "A SteM may use one data structure while that is best and switch to another one as it grows, independently of the other "
        "modules.",
        _adapting,
        {"chains": "the index stays with chains", "runs": "the index is in runs at all times"},
    ),
)
