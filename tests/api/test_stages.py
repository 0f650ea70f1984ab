"""Joins read stage by stage: how they are planned; `cluster_program` runs one on a cluster."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

import fff
from fff.frames.stages import ReadStage, _kind, _pushed, over_frames, stages_of
from fff.opening import open_federation
from fff.spark.bridge import SESSION_CONF
from fff.sql.syntax.parameters.param_types import BigInt, typed

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
                "events": {
                    "columns": {"id": "bigint", "day": "date", "at": "timestamp", "naive": "timestamp_ntz"},
                    "primary_key": ["id"],
                    "scan": {"endpoint": "events"},
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


@pytest.mark.parametrize(
    ("condition", "zoned"),
    [
        ("at < TIMESTAMP '2024-01-02 00:00:00'", True),
        ("at < :moment", True),
        ("hour(at) = 3", True),
        ("CAST(at AS date) = DATE '2024-01-02'", True),
        ("day = CAST(TIMESTAMP '2024-01-02 03:00:00' AS DATE)", True),
        ("naive < TIMESTAMP '2024-01-02 00:00:00'", True),
        ("day = DATE 'today'", True),
        ("from_unixtime(id) < '2024'", True),
        ("current_timezone() = 'UTC' OR id = 3", True),
        ("day > DATE '2024-01-02' - INTERVAL 7 HOURS", True),
        ("day > current_date() - INTERVAL 7 DAYS", False),
        ("day BETWEEN DATE '2024-01-02' AND '2024-02-02'", False),
        ("NOT (id IN (1, 2) OR id + 1 > :least) AND day IS NOT NULL", False),
    ],
)
def test_conditions_that_a_time_zone_changes_are_known(spec: Path, condition: str, zoned: bool) -> None:
    params = {"moment": dt.datetime(2024, 1, 2, tzinfo=dt.UTC), "least": 3}
    wanted = {name: value for name, value in params.items() if f":{name}" in condition}
    [stage] = planned(spec, f"SELECT 1 FROM events WHERE {condition}", **wanted)
    assert (
        stage.zoned == stage.conditions
    ) == zoned or not stage.conditions  # those that are not pushed at all
    assert stage.primary_key == ("id",)
    assert "id" in stage.columns


@pytest.mark.parametrize(
    ("changed", "pushed"),
    [
        ({}, ["day > DATE '2024-01-02'", "hour(at) = 3"]),
        ({"spark.sql.session.timeZone": "America/New_York"}, ["day > DATE '2024-01-02'"]),
        ({"spark.sql.ansi.enabled": "false"}, []),
        ({"spark.sql.timestampType": "TIMESTAMP_NTZ"}, []),
    ],
)
def test_conditions_that_the_session_means_otherwise_are_left_to_it(
    spec: Path, changed: dict[str, str], pushed: list[str]
) -> None:
    [stage] = planned(spec, "SELECT id FROM events WHERE day > DATE '2024-01-02' AND hour(at) = 3")
    assert list(_pushed(stage, SimpleNamespace(conf=SESSION_CONF | changed))) == pushed


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        *((3, "int"), (BigInt(3), "bigint"), (3_000_000_000, "bigint"), (-(2**63) + 1, "bigint"), (2**70, None)),
        *((True, "boolean"), (0.5, "double"), ("x", "string"), (dt.date(2024, 1, 2), "date"), (None, None)),
    ],
)  # fmt: skip
def test_values_are_sent_in_a_type_that_holds_them(value: object, kind: str | None) -> None:
    assert _kind(value) == kind
    if kind is not None:
        assert typed("it", kind, str(value)) == value


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
