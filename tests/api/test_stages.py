"""Joins read stage by stage: how they are planned; `cluster_program` runs one on a cluster."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

import fff
from fff.frames.stages import ReadStage, over_frames, stages_of
from fff.opening import open_federation

SPEC = {
    "version": 1,
    "sources": {
        "town": {
            "client": {"base_url": "http://127.0.0.1:1"},
            "tables": {
                "crime": {
                    "columns": {"zip": "string", "city": "string", "rating": "string", "year": "int"},
                    "scan": {"endpoint": "crime"},
                },
                **{
                    name: {
                        "columns": {key: "string", "income": "int", "place": "string"},
                        "key_columns": [{"name": key, "require": "required", "operators": ["="]}],
                        "lookups": [{"keys": [key], "endpoint": f"{name}/{{{key}}}"}],
                    }
                    for name, key in (("incomes", "zip"), ("places", "place"))
                },
            },
        }
    },
}


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "fff.yaml"
    path.write_text(yaml.safe_dump(SPEC), encoding="utf-8")
    return path


def planned(spec: Path, sql: str, **params: object) -> list[ReadStage]:
    federation = open_federation([spec], cache=False)
    return stages_of(sql, federation.prepare(sql, params).only_block)


def test_a_chain_of_lookups_is_read_in_the_order_in_which_keys_are_known(spec: Path) -> None:
    stages = planned(
        spec,
        "SELECT c.city, p.income FROM places p JOIN incomes i ON p.place = i.place JOIN town.crime c"
        " ON c.zip = i.zip WHERE c.rating = 'severe' AND year > :least AND i.income > c.year AND p.income > 5",
        least=2000,
    )
    first = ("c.rating = 'severe'", "year > :least")
    assert stages == [
        ReadStage("c", "town.crime", ("city", "rating", "year", "zip"), first, None),
        ReadStage("i", "town.incomes", ("income", "place", "zip"), (), ("c", {"zip": "zip"})),
        ReadStage("p", "town.places", ("income", "place"), ("p.income > 5",), ("i", {"place": "place"})),
    ]


def test_a_left_join_keeps_its_condition_to_itself(spec: Path) -> None:
    crime, incomes = planned(
        spec,
        "SELECT c.city FROM crime c LEFT JOIN incomes i ON c.zip = i.zip AND i.income > 5 AND c.year > 1"
        " WHERE i.income IS NULL",
    )
    assert (crime.conditions, incomes.conditions) == ((), ())
    assert incomes.keys == ("c", {"zip": "zip"})


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT a.zip FROM crime a JOIN crime b ON a.zip = b.zip", "named twice"),
        ("SELECT zip FROM crime UNION ALL SELECT zip FROM crime", "one FROM clause"),
        ("SELECT zip FROM crime WHERE zip IN (SELECT city FROM crime GROUP BY city)", "one FROM clause"),
    ],
)
def test_other_statements_are_refused(spec: Path, sql: str, message: str) -> None:
    with pytest.raises(fff.QueryError, match=message):
        fff.read(sql, spark=None, sources=[spec])


def test_frames_stand_in_the_place_of_tables() -> None:
    text = over_frames(
        "SELECT incomes.zip, '{}' FROM town.crime c JOIN `incomes` ON c.zip = incomes.zip",
        {"c": "t0", "incomes": "t1"},
    )
    assert text == "SELECT incomes.zip, '{{}}' FROM {t0} c JOIN {t1} AS incomes ON c.zip = incomes.zip"
