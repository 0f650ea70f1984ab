"""A forecast in words, and as plain data."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from fff.budget import Budget
from fff.forecast.estimate import AccessForecast, Forecast, Interval, cost_of, seconds_of


def forecast_lines(forecast: Forecast) -> list[str]:
    """For each access method, each source and all: requests, seconds, money, and what that rests on."""
    if not forecast.access:
        return []
    lines = ["Forecast"]
    for one in forecast.access:
        rests = "; ".join(one.rests_on)
        lines.append(f"  {one.source}.{one.name}: {_numbers([one])}" + (f" ({rests})" if rests else ""))
    by_source = _by_source(forecast.access)
    if len(by_source) > 1:
        lines += [f"  {source} in all: {_numbers(some)}" for source, some in by_source.items()]
    if len(forecast.access) > 1:
        lines.append(f"  in all: {_numbers(forecast.access)}")
    return lines


def forecast_data(forecast: Forecast) -> dict[str, Any]:
    """The same as JSON-ready values: intervals are [low, high], with null where nobody knows."""
    return {
        "access": [
            {"source": one.source, "table": one.table, "kind": one.kind, "name": one.name}
            | _data([one])
            | {"rests_on": list(one.rests_on)}
            for one in forecast.access
        ],
        "sources": [{"source": source} | _data(some) for source, some in _by_source(forecast.access).items()],
        "total": _data(forecast.access),
    }


def over_budget(forecasts: Iterable[Forecast], budget: Budget) -> list[str]:
    """Why statements will not all be complete within a budget, as far as that is known before they run."""
    # What one statement reads of a table serves the others.
    least_of: dict[tuple[str, str, str], AccessForecast] = {}
    for one in (one for forecast in forecasts for one in forecast.access):
        place = one.source, one.table, one.name
        least_of[place] = max(least_of.get(place, one), one, key=lambda some: some.requests.low)
    access = list(least_of.values())
    reasons = []
    least = sum(one.requests.low for one in access)
    if budget.requests is not None and least > budget.requests:
        reasons.append(f"this takes at least {least:,.0f} requests, and {budget.requests:,} are allowed")
    costs = cost_of(access)
    for currency, cost in costs.items():
        if budget.money is not None and Decimal(repr(round(cost.low, 9))) > budget.money.amount:
            reasons.append(
                f"this costs at least {_money(cost.low)} {currency}, and the budget is {budget.money}"
            )
    told = [f"{one}: the answer will be partial" for one in reasons]
    if budget.money is not None and access and not costs:
        told.append("no source of this states a price, so that the budget limits nothing")
    return told


def _by_source(access: Iterable[AccessForecast]) -> dict[str, list[AccessForecast]]:
    by_source: dict[str, list[AccessForecast]] = {}
    for one in access:
        by_source.setdefault(one.source, []).append(one)
    return by_source


def _requests(access: Iterable[AccessForecast]) -> Interval:
    return sum((one.requests for one in access), Interval(0, 0))


def _numbers(access: Iterable[AccessForecast]) -> str:
    some = list(access)
    requests, seconds = _requests(some), seconds_of(some)
    last = requests.low if requests.high is None else requests.high
    noun = "request" if last == 1 else "requests"
    parts = [f"{_between(requests, lambda number: f'{number:,.0f}')} {noun}"]
    if seconds.low or seconds.high is not None:
        parts.append(_between(seconds, _short) + " s")
    parts += [f"{_between(cost, _money)} {currency}" for currency, cost in cost_of(some).items()]
    return ", ".join(parts)


def _between(interval: Interval, shown: Any) -> str:
    if interval.high is None:
        return f"at least {shown(interval.low)}"
    low, high = shown(interval.low), shown(interval.high)
    return low if low == high else f"{low} to {high}"


def _short(seconds: float) -> str:
    """Two digits that count: nobody knows more."""
    if seconds <= 0:
        return "0"
    places = max(0, 1 - math.floor(math.log10(seconds)))
    return f"{seconds:,.{min(places, 3)}f}"


def _money(amount: float) -> str:
    text = f"{Decimal(repr(round(amount, 9))):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _data(access: Iterable[AccessForecast]) -> dict[str, Any]:
    some = list(access)
    requests, seconds = _requests(some), seconds_of(some)
    return {
        "requests": [requests.low, requests.high],
        "seconds": [round(seconds.low, 6), None if seconds.high is None else round(seconds.high, 6)],
        "cost": {
            currency: [round(cost.low, 9), None if cost.high is None else round(cost.high, 9)]
            for currency, cost in cost_of(some).items()
        },
    }
