"""What servers tell of their quotas, in all the ways they tell it."""

from __future__ import annotations

import email.utils

import pytest

from fff.web.gate.rate_limit_headers import Quota, Remaining, quota_wait, quotas
from fff.web.retry import retry_after
from fff.web.types import HostPolicy
from tests.web.serving import WALL

POLICY = HostPolicy()


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(WALL) + 7)}, 7.0),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": str((int(WALL) + 7) * 1000)}, 7.0),
        ({"ratelimit-remaining": "0", "ratelimit-reset": "9"}, 9.0),
        ({"ratelimit-remaining": "1", "ratelimit-reset": "9"}, None),
        ({"ratelimit-remaining": "0"}, None),
        ({"x-ratelimit-remaining": "0, 0;w=60", "x-ratelimit-reset": "9;w=60"}, 9.0),
        *(
            ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": text}, seconds)
            for text, seconds in {
                "Tue, 14 Nov 2023 22:13:21 GMT": 1.0,
                "2023-11-14T22:13:27Z": 7.0,
                "2023-11-15T00:13:27.5+02:00": 7.5,
                "2023-11-14 22:13:27 UTC": 7.0,
                "2023-11-14T22:13:27": 7.0,
                "1.5s": 1.5,
                "6m0s": 360.0,
                "1h 2m 3s": 3723.0,
                "120ms": 0.12,
                "6m0": None,
                "2023-11-44": None,
            }.items()
        ),
        ({}, None),
    ],
)
def test_quota(headers: dict[str, str], seconds: float | None) -> None:
    assert quota_wait(quotas(headers, POLICY, WALL)) == seconds


def test_declared_quota_headers_replace_the_usual_ones() -> None:
    policy = HostPolicy(remaining_header="X-Left", reset_header="X-Back-In")
    assert quota_wait(quotas({"x-left": "0", "x-back-in": "4"}, policy, WALL)) == 4
    assert quota_wait(quotas({"ratelimit-remaining": "0", "ratelimit-reset": "4"}, policy, WALL)) is None


@pytest.mark.parametrize(
    ("headers", "told"),
    [
        (
            {"ratelimit-limit": "100, 100;w=60", "ratelimit-remaining": "7", "ratelimit-reset": "9"},
            [Quota("ratelimit", 7, 9, 100, 60)],
        ),
        (
            {"ratelimit-limit": "100", "ratelimit-policy": "100;w=60", "ratelimit-remaining": "7"},
            [Quota("ratelimit", 7, None, 100, 60)],
        ),
        (
            {"ratelimit": '"burst";r=5;t=2, "daily";r=900;t=4000', "ratelimit-policy": '"burst";q=10;w=3'},
            [Quota("burst", 5, 2, 10, 3), Quota("daily", 900, 4000)],
        ),
        (
            {"ratelimit": '"bytes";r=0;t=2', "ratelimit-policy": '"bytes";q=10;w=3;qu="content-bytes"'},
            [],
        ),
        (
            {"ratelimit": "limit=100, remaining=50, reset=30", "ratelimit-policy": "100;w=60"},
            [Quota("", 50, 30, 100, 60)],
        ),
        ({"ratelimit": "limit = 10, remaining\t= 5"}, [Quota("", 5, None, 10)]),
        ({"ratelimit": "x-remaining=3"}, []),
        (
            {"x-rate-limit-limit": "50", "x-rate-limit-interval": "1s"},
            [Quota("x-rate-limit", None, None, 50, 1)],
        ),
        (
            {"x-ratelimit-limit-minute": "60", "x-ratelimit-remaining-minute": "3"},
            [Quota("x-ratelimit-minute", 3, None, 60, 60)],
        ),
        ({"x-ratelimit-remaining": "3", "x-ratelimit-reset-after": "1.5"}, [Quota("x-ratelimit", 3, 1.5)]),
        ({"x-ratelimit-remaining": "3", "x-ratelimit-reset-after": "1.5s"}, [Quota("x-ratelimit", 3, 1.5)]),
        ({"x-ratelimit-remaining": "3", "x-ratelimit-reset": "5", "age": "60"}, []),
        ({"ratelimit": ";;,=", "x-ratelimit-remaining": "many"}, []),
    ],
)
def test_the_ways_to_tell(headers: dict[str, str], told: list[Quota]) -> None:
    assert list(quotas(headers, POLICY, WALL)) == told


def test_a_declared_header_goes_with_a_usual_one() -> None:
    policy = HostPolicy(remaining_header="X-Left")
    told = quotas({"x-left": "0", "x-ratelimit-remaining": "9", "x-ratelimit-reset": "5"}, policy, WALL)
    assert quota_wait(told) == 5


def test_dates_are_read_by_the_servers_clock_where_ours_is_off() -> None:
    date = email.utils.formatdate(WALL + 7200, usegmt=True)
    later = email.utils.formatdate(WALL + 7230, usegmt=True)
    assert retry_after({"date": date, "retry-after": later}, WALL) == 30
    headers = {"date": date, "x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(WALL) + 7260)}
    assert quota_wait(quotas(headers, POLICY, WALL)) == 60
    assert retry_after({"date": email.utils.formatdate(WALL), "retry-after": later}, WALL + 0.5) == 7229.5


def test_what_is_left_lies_between_what_was_told_and_what_is_in_flight() -> None:
    budget = Remaining()
    budget.observe(Quota("", 10, 5), 1, 3, now=0.0)
    assert budget.left == 7, "three in flight may not be counted yet"
    budget.observe(Quota("", 9, 5), 2, 2, now=0.1)
    budget.observe(Quota("", 7, 5), 4, 0, now=0.2)
    assert budget.left == 7, "all are"
    budget.start()
    assert budget.left == 6
    budget.observe(Quota("", 9, 5), 3, 1, now=0.3)
    assert budget.left == 6, "an answer that was overtaken tells nothing"
    assert budget.even_rate(0.2) == pytest.approx(6 / 4.8)


def test_the_end_of_a_window_is_the_earliest_told_and_moves_with_the_next_window() -> None:
    budget = Remaining()
    budget.observe(Quota("", 5, 3), 1, 0, now=0.5)  # rounded up
    budget.observe(Quota("", 4, 3), 2, 0, now=0.9)
    assert budget.ends == 3.5
    budget.observe(Quota("", 0, 1), 3, 0, now=2.4)
    assert (budget.ends, budget.exhausted(0)) == (3.4, True)
    budget.expire(3.4)
    assert budget.left is None
    budget.observe(Quota("", 4, 3), 4, 0, now=3.5)
    assert (budget.ends, budget.left) == (6.5, 4)
