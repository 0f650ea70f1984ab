"""A filter that the engine evaluates against the same pyarrow kernels called by hand, over the same batches.

    python -m benchmarks.filters [--rows N] [--batch N] [--runs N]

The ratio is engine / by hand: 1 would mean that the engine's expressions are free.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fff.catalog import Table
from fff.dataflow.arrays import numpy_mask
from fff.dataflow.plan.expressions import evaluate_rows
from fff.errors import Span
from fff.schema import Field
from fff.sql.analysis.predicates import Translator
from fff.sql.binder.names import Relation, Scope
from fff.sql.syntax.parse import parse_statement

FIELDS = (Field.of("v", "bigint"), Field.of("x", "double"), Field.of("s", "string"))


def _by_hand() -> dict[str, Callable[[pa.RecordBatch], pa.Array]]:
    five, hundred = pa.scalar(500, pa.int64()), pa.scalar(100, pa.int64())

    def remainder(rows: pa.RecordBatch) -> pa.Array:
        v = rows.column(0)
        return pc.equal(pc.subtract(v, pc.multiply(pc.divide(v, hundred), hundred)), pa.scalar(0, pa.int64()))

    return {
        "v + 1 > 500": lambda rows: pc.greater(
            pc.add_checked(rows.column(0), pa.scalar(1, pa.int64())), five
        ),
        "v % 100 = 0": remainder,
        "x * 2.5e0 < 900 AND v > 500": lambda rows: pc.and_kleene(
            pc.less(pc.multiply(rows.column(1), pa.scalar(2.5)), pa.scalar(900.0)),
            pc.greater(rows.column(0), five),
        ),
        "s LIKE 'sev%'": lambda rows: pc.starts_with(rows.column(2), pattern="sev"),
        "lower(s) = 'severe'": lambda rows: pc.equal(pc.ascii_lower(rows.column(2)), pa.scalar("severe")),
        "length(trim(s)) > 5": lambda rows: pc.greater(
            pc.utf8_length(pc.utf8_trim(rows.column(2), characters=" ")), pa.scalar(5)
        ),
    }


def _seconds(work: Callable[[], object], runs: int) -> float:
    """Of processor, in the shortest of some runs."""
    found = []
    for _ in range(runs):
        started = time.process_time()
        work()
        found.append(time.process_time() - started)
    return min(found)


def measured(count: int, batch: int, runs: int) -> Iterator[tuple[str, float, float]]:
    """Each filter, and what it costs by the engine and by hand, in seconds of processor, over so many rows in batches."""
    rng = np.random.default_rng(1)
    words = pa.array(["severe", "Severe", " minor ", "none", None])
    table = pa.table(
        {
            "v": rng.integers(0, 1000, count),
            "x": rng.random(count) * 1000,
            "s": words.take(pa.array(rng.integers(0, len(words), count))),
        }
    )
    batches = table.to_batches(max_chunksize=batch)
    scope = Scope.of(Relation("t", Table("bench", "t", FIELDS), 0, Span(0, 0), renamed=False))
    for text, by_hand in _by_hand().items():
        statement = parse_statement(f"SELECT {text} AS z FROM t")
        expr = Translator(statement, scope).expression(statement.tree.expressions[0].this)

        def engine(expr=expr) -> int:  # type: ignore[no-untyped-def]
            return sum(
                int(
                    numpy_mask(
                        evaluate_rows(expr, lambda one, rows=rows: rows.column(one.index), len(rows)).values
                    ).sum()
                )
                for rows in batches
            )

        def plain(by_hand=by_hand) -> int:  # type: ignore[no-untyped-def]
            return sum(int(numpy_mask(by_hand(rows)).sum()) for rows in batches)

        assert engine() == plain(), text
        yield text, _seconds(engine, runs), _seconds(plain, runs)


def dearest(count: int) -> tuple[float, float]:
    """What the filter costs that costs most in terms of the same kernels, and what these cost."""
    return max((found[1:] for found in measured(count, 10_000, 7)), key=lambda found: found[0] / found[1])


def main() -> None:
    """Prints what each filter costs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--batch", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    for text, engine, by_hand in measured(given.rows, given.batch, given.runs):
        print(f"{text:32} {engine:.4f} s, by hand {by_hand:.4f} s, ratio {engine / by_hand:.2f}")


if __name__ == "__main__":
    main()
