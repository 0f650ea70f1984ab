"""What answers say about trying again."""

from __future__ import annotations

import random
import time

import pytest

from fff.web.retry import backoff, is_retried, is_throttle, retry_after
from fff.web.types import HostPolicy
from tests.web.serving import WALL

POLICY = HostPolicy()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2", 2.0),
        (" 0.5 ", 0.5),
        ("Tue, 14 Nov 2023 22:13:50 GMT", 30.0),
        ("Tue, 14 Nov 2023 22:13:00 GMT", 0.0),
        ("2023-11-14T22:13:50Z", 30.0),
        ("1m30s", 90.0),
        ("Sat, 01 Jan 2000 00:00:00 GMT", 0.0),
        ("soon", None),
        ("", None),
        ("-5", None),
        ("1e999", None),
    ],
)
def test_retry_after(text: str, seconds: float | None) -> None:
    assert retry_after({"retry-after": text}, WALL) == seconds


@pytest.mark.parametrize("date", ["Tue Nov 14 22:13:50 2023", "Tue, 14 Nov 2023 22:13:50 -0000"])
def test_a_date_that_names_no_zone_is_of_greenwich(date: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        assert retry_after({"retry-after": date}, WALL) == 30
    finally:
        monkeypatch.undo()
        time.tzset()


def test_only_these_statuses_are_worth_another_try() -> None:
    assert {status for status in range(100, 600) if is_retried(status, POLICY)} == {
        408,
        425,
        429,
        *range(500, 600),
    }
    assert is_retried(403, HostPolicy(extra_statuses=frozenset({403})))


def test_what_throttles_the_host() -> None:
    assert is_throttle(429, {}, POLICY)
    assert is_throttle(503, {"retry-after": "1"}, POLICY)
    assert not is_throttle(503, {}, POLICY)
    assert is_throttle(403, {"retry-after": "1"}, POLICY)
    assert is_throttle(403, {}, POLICY, used_up=True)
    assert not is_throttle(403, {}, POLICY)
    assert not is_throttle(401, {"retry-after": "1"}, POLICY, used_up=True)
    assert is_throttle(403, {}, HostPolicy(extra_statuses=frozenset({403})))


def test_backoff_doubles_up_to_its_cap_with_full_jitter() -> None:
    policy = HostPolicy(base_delay=1, max_delay=5)
    draws = [
        [backoff(attempt, policy, random.Random(seed)) for seed in range(300)] for attempt in (1, 2, 3, 4, 9)
    ]
    assert [round(max(draw)) for draw in draws] == [1, 2, 4, 5, 5]
    assert all(min(draw) < 0.1 * max(draw) for draw in draws)
