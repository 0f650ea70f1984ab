"""The demo's rows: invented, the same for the same seed, and shaped so that adaptive processing has something to do.

Contributions are log-normal, their zips Zipf-skewed (few zips carry most rows), states follow from zips, and
each of the two lookup tables lacks a few of the zips, so that an inner join really drops rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

Row: TypeAlias = dict[str, Any]

DEFAULT_SEED = 2003
CONTRIBUTIONS = 20_000
ZIPS = 360

#: State -> three-digit zip prefix and a city there; zips are made of the prefix and two more digits.
STATES: dict[str, tuple[str, str]] = {
    "AZ": ("850", "Phoenix"),
    "CA": ("947", "Berkeley"),
    "CO": ("802", "Denver"),
    "FL": ("331", "Miami"),
    "GA": ("303", "Atlanta"),
    "IL": ("606", "Chicago"),
    "MA": ("021", "Boston"),
    "MI": ("482", "Detroit"),
    "MN": ("554", "Minneapolis"),
    "NY": ("100", "New York"),
    "OH": ("432", "Columbus"),
    "PA": ("191", "Philadelphia"),
    "TX": ("787", "Austin"),
    "VA": ("232", "Richmond"),
    "WA": ("981", "Seattle"),
    "WI": ("532", "Milwaukee"),
}
RATINGS = ("low", "moderate", "high", "severe")
COMMITTEES = ("Forward", "Liberty", "Commons", "Harbor", "Prairie", "Summit", "Unity", "Beacon")
FIRST_NAMES = (
    "Ada", "Blaise", "Chen", "Dolores", "Edgar", "Fatima", "Grace", "Hedy", "Ivan", "José", "Kurt",
    "Leslie",
)  # fmt: skip
LAST_NAMES = (
    "Abbott", "Boyce", "Codd", "Dijkstra", "Engelbart", "Floyd", "Gray", "Hopper", "Iverson", "Jones",
    "Knuth",
)  # fmt: skip


@dataclass(frozen=True)
class DemoData:
    """The rows behind the three sources, as the sources send them (JSON values, dates as ISO text)."""

    fec: list[Row]
    demographics: list[Row]
    crime: list[Row]

    def tables(self) -> dict[str, pa.Table]:
        """The same rows as Arrow tables in the types the spec declares: what the tests' oracle reads."""
        dated = [row | {"date": date.fromisoformat(row["date"])} for row in self.fec]
        return {
            "FEC": pa.Table.from_pylist(dated, schema=FEC_SCHEMA),
            "Demographics": pa.Table.from_pylist(self.demographics, schema=DEMOGRAPHICS_SCHEMA),
            "Crime": pa.Table.from_pylist(self.crime, schema=CRIME_SCHEMA),
        }


def _schema(**columns: pa.DataType) -> pa.Schema:
    return pa.schema(list(columns.items()))


FEC_SCHEMA = _schema(
    id=pa.int64(),
    name=pa.string(),
    committee=pa.string(),
    zip=pa.string(),
    State=pa.string(),
    city=pa.string(),
    contribution=pa.float64(),
    date=pa.date32(),
)
DEMOGRAPHICS_SCHEMA = _schema(
    zip=pa.string(), householdIncome=pa.int32(), population=pa.int32(), medianAge=pa.float64()
)
CRIME_SCHEMA = _schema(zip=pa.string(), crimeRating=pa.string(), incidents=pa.int32())


def generate(seed: int = DEFAULT_SEED, contributions: int = CONTRIBUTIONS, zips: int = ZIPS) -> DemoData:
    """The demo's rows for a seed: `contributions` rows of FEC over `zips` zips (at most 1,600)."""
    if not len(STATES) <= zips <= 100 * len(STATES):
        raise ValueError(f"zips must be {len(STATES)} to {100 * len(STATES)}, not {zips}")
    rng = np.random.default_rng(seed)
    places = _places(rng, zips)
    return DemoData(
        fec=_contributions(rng, contributions, places),
        demographics=_demographics(rng, places),
        crime=_crime(rng, places),
    )


def _places(rng: np.random.Generator, zips: int) -> list[tuple[str, str, str]]:
    """(zip, state, city), in random order, so that the Zipf ranks are spread over the states."""
    states = list(STATES)
    places = []
    for index in range(zips):
        state = states[index % len(states)]
        prefix, city = STATES[state]
        places.append((f"{prefix}{index // len(states):02d}", state, city))
    rng.shuffle(places)
    return places


def _contributions(rng: np.random.Generator, count: int, places: list[tuple[str, str, str]]) -> list[Row]:
    weights = 1.0 / np.arange(1, len(places) + 1) ** 0.9
    where = rng.choice(len(places), size=count, p=weights / weights.sum())
    cents = np.maximum(100, np.rint(np.exp(rng.normal(4.6, 1.1, size=count)) * 100)).astype(np.int64)
    days = rng.integers(0, 730, size=count)
    first, last = rng.integers(0, len(FIRST_NAMES), size=count), rng.integers(0, len(LAST_NAMES), size=count)
    committee = rng.integers(-1, len(COMMITTEES), size=count)  # -1: none named
    rows = []
    for index in range(count):
        code, state, city = places[where[index]]
        rows.append(
            {
                "id": index + 1,
                "name": f"{LAST_NAMES[last[index]]}, {FIRST_NAMES[first[index]]}",
                "committee": None if committee[index] < 0 else COMMITTEES[committee[index]],
                "zip": code,
                "State": state,
                "city": city,
                "contribution": int(cents[index]) / 100,
                "date": (date(2023, 1, 1) + timedelta(days=int(days[index]))).isoformat(),
            }
        )
    return rows


def _demographics(rng: np.random.Generator, places: list[tuple[str, str, str]]) -> list[Row]:
    rows: list[Row] = [
        {
            "zip": code,
            "householdIncome": int(min(190_000, max(24_000, rng.normal(72_000, 18_000)))),
            "population": int(rng.integers(900, 60_000)),
            "medianAge": round(float(rng.normal(38, 5)), 1) if rng.random() > 0.04 else None,
        }
        for code, _, _ in places
    ]
    return _without_some(rng, rows, share=0.02)


def _crime(rng: np.random.Generator, places: list[tuple[str, str, str]]) -> list[Row]:
    rows: list[Row] = []
    for code, _, _ in places:
        incidents = int(rng.gamma(2.0, 60.0))
        rating = RATINGS[int(np.searchsorted((50, 120, 240), incidents))]
        rows.append({"zip": code, "crimeRating": rating, "incidents": incidents})
    return _without_some(rng, rows, share=0.03)


def _without_some(rng: np.random.Generator, rows: list[Row], share: float) -> list[Row]:
    """The rows less a random few, at least one: what an inner join has to notice."""
    gone = set(rng.choice(len(rows), size=max(1, round(share * len(rows))), replace=False).tolist())
    return [row for index, row in enumerate(rows) if index not in gone]
