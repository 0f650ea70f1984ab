"""No bundled source is asked more often than it says that it may be: in no window of time, the first included.

Virtual time: each is driven through the limit of its own documentation, which stands in its spec's head.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fff.web.client import WebClient
from fff.web.types import HostPolicy
from fff_cli.commands.source import described
from fff_sources.http.source import HttpSource
from fff_sources.load import BUNDLED, lint, load_catalog
from tests.catalog.pages import secrets
from tests.catalog.stand_in import ANSWERS, limits
from tests.sampling import every
from tests.web.simulated import SimulatedServer, drive

#: Requests and seconds. Daily allowances that hang on a key are told by the servers themselves.
STATED = {file.stem: limits(file.stem) for file in sorted(ANSWERS.glob("*.yaml"))}
SECRETS = {name: "x" for file in BUNDLED.glob("*.yaml") for name in secrets(file.stem)}


def policy_of(name: str) -> HostPolicy:
    catalog = load_catalog([BUNDLED / f"{name}.yaml"], environ=SECRETS, cwd=Path(BUNDLED), client=WebClient())
    source = catalog.adapters[0]
    assert isinstance(source, HttpSource)
    return source.http.policy


def test_every_stated_limit_is_driven_through() -> None:
    says = re.compile(r"\d (requests?|calls) (a|an|in) |requests in five minutes|in five minutes: \d")
    heads = {
        file.stem: file.read_text(encoding="utf-8").split("version:")[0] for file in BUNDLED.glob("*.yaml")
    }
    silent = {file.stem for file in ANSWERS.glob("*.yaml") if not limits(file.stem)} - {"github"}
    assert {name for name, head in heads.items() if says.search(head)} == set(STATED) - silent


@pytest.mark.parametrize("seconds", every(2, [0.4, 0.01]))
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if number % 4 or min(stated)[0] > 1000 else [])
        for number, (name, stated) in enumerate(STATED.items())
        if stated
    ],
)
def test_no_window_holds_more_than_the_source_admits(name: str, seconds: float) -> None:
    policy, stated = policy_of(name), STATED[name]
    server = SimulatedServer(latency=lambda rng: seconds * rng.uniform(0.2, 1.8))
    shortest = min(stated, key=lambda one: one[1])
    # Those of an hour end a query that would have to wait for the next one, so one less than they admit.
    count = min(
        [shortest[0] * 5, shortest[0] + 250, *(limit - 1 for limit, per in stated if per > policy.max_wait)]
    )
    ran = drive(server, count, **{field: getattr(policy, field) for field in HostPolicy.__struct_fields__})
    assert len(ran.answers) == count
    for limit, per in stated:
        pairs = zip(server.admitted, server.admitted[limit:], strict=False)
        assert all(later - earlier > per for earlier, later in pairs), (limit, per)


def test_a_limit_is_used() -> None:
    """As many as it admits go out at once, and the next ones as soon as they may."""
    server = SimulatedServer(latency=lambda rng: 0.1)
    drive(server, 15, **{field: getattr(policy_of("nvd"), field) for field in HostPolicy.__struct_fields__})
    assert [round(at // 30) for at in server.admitted] == [0] * 5 + [1] * 5 + [2] * 5
    assert server.admitted[-1] < 62


def test_a_table_says_what_its_host_is_sent_at_most() -> None:
    catalog = load_catalog([], environ=SECRETS, cwd=Path(BUNDLED), client=WebClient())
    (weather,) = catalog.find(["openmeteo", "forecast"])
    assert (
        "access methods (at most 4 requests at once, 600 in 60 s, 5,000 in 3,600 s, 10,000 in 86,400 s, "
        "300,000 in 2,592,000 s)" in described(weather)
    )


@pytest.mark.parametrize(
    ("limit", "says"),
    [
        *((half, "limit and per go together") for half in ("limit: 5", "per: 30")),
        ("bucket_size: 5", "bucket_size is of a fill_rate"),
        *(
            (f"extra_statuses: [{code}]", f"HTTP {code} never means to slow down")
            for code in (0, 100, 200, 204, 301)
        ),
        ("remaining_header: ''", "rate_limit.remaining_header: must have at least 1 character"),
        ("reset_header: ''", "rate_limit.reset_header: must have at least 1 character"),
    ],
)
def test_a_limit_that_could_mean_nothing_is_a_mistake(tmp_path: Path, limit: str, says: str) -> None:
    file = tmp_path / "fff.yaml"
    file.write_text(
        f"version: 1\nsources: {{x: {{client: {{base_url: 'http://x.example', rate_limit: {{{limit}}}}}, "
        "tables: {t: {columns: {a: int}, scan: {endpoint: t}}}}}\n",
        encoding="utf-8",
    )
    (error,) = lint(file)
    assert says in error.render()
