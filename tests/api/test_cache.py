"""`fff.connect(cache=…)`: what one connection has read, another takes from disk."""

from __future__ import annotations

from pathlib import Path

import pytest

import fff
from tests.api.conftest import Publish
from tests.api.sites import JOIN, TABLES, site


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_a_second_connection_sends_nothing(publish: Publish, home: Path) -> None:
    served = site()
    spec = publish(served, TABLES)

    def sent(**options: object) -> int:
        before = served.scans.total() + served.keys.total()
        with fff.connect(spec, **options) as federation:  # type: ignore[arg-type]
            assert len(federation.sql(JOIN, max_requests=50)) == 45
            assert len(federation.sql(JOIN)) == 45
        return served.scans.total() + served.keys.total() - before

    assert sent() == 24, "twice five pages and seven keys: the spec says nothing of a cache"
    assert not (home / "fff" / "rows").exists()
    assert sent(cache=True) == 12, "the second statement finds what the first has kept"
    assert sent(cache=True) == sent(cache_ttl=60) == 0
    assert sent(cache=False) == 24


def test_the_spec_of_a_source_asks_for_it(publish: Publish) -> None:
    served = site()
    spec = publish(served, TABLES, cache={"ttl": 60})
    for _ in range(2):
        with fff.connect(spec) as federation:
            assert len(federation.sql(JOIN)) == 45
    assert served.scans.total() + served.keys.total() == 12


def test_options_are_checked(publish: Publish) -> None:
    with pytest.raises(fff.UsageError, match="must be a number of seconds"):
        fff.connect(publish(site(), TABLES), cache_ttl=-1)
