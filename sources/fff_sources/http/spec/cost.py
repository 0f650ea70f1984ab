"""What requests cost, as a spec says it of a source, a table or a way to it, and as how many they count."""

import math
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Self

from fff.budget import Money
from fff.errors import SpecError
from fff_sources.document import Document, Key
from fff_sources.http.spec.model import Field, Spec, model_validator


class RequestCost(Spec):
    """The price of a request: outright, or so many units of a quota at a price each.

    What a table or an access method leaves out it takes from what stands above it.
    """

    per_request: Decimal | None = Field(default=None, ge=0, allow_inf_nan=False)
    per_unit: Decimal | None = Field(default=None, ge=0, allow_inf_nan=False)
    units: int | None = Field(default=None, ge=0)
    currency: str | None = Field(default=None, pattern="^[A-Za-z]{1,16}$")

    @model_validator(mode="after")
    def _one_price(self) -> Self:
        if self.per_request is not None and (self.per_unit is not None or self.units is not None):
            raise ValueError("per_request is the whole price: it does not go with per_unit or units")
        return self


class CountedDays(Spec):
    """A request counts as one for every so many `days` begun, between two key columns that are dates."""

    first: str
    last: str
    days: float = Field(gt=0)

    def units(self, values: Mapping[str, Any]) -> int:
        """As how many requests one counts for these dates."""
        between: int = (values[self.last] - values[self.first]).days
        return max(1, math.ceil((between + 1) / self.days))


def price_of(*declared: RequestCost | None) -> Money | None:
    """The price of a request, from what is said of the source, the table, the access method; None where nothing is.

    Raises ValueError where that is not enough to tell it.
    """
    costs = [cost for cost in declared if cost is not None]
    if not costs:
        return None
    price: Decimal | None = None
    each: Decimal | None = None
    units, currency = 1, None
    for cost in costs:
        if cost.per_request is not None or cost.per_unit is not None:
            price, each = cost.per_request, cost.per_unit
        units = units if cost.units is None else cost.units
        currency = cost.currency or currency
    if each is not None:
        price = each * units
    if price is None:
        raise ValueError("states no price: it needs per_request or per_unit")
    if currency is None:
        raise ValueError("needs a currency, such as USD")
    if price == 0:
        return None
    return Money(price, currency)


def cost_problems(name: str, declared: Any, document: Document) -> Iterator[SpecError]:
    """Prices that cannot be told, or of several currencies in one source; each where it is said."""
    base: tuple[Key, ...] = ("sources", name)
    currencies_named: set[str] = set()
    of_source = getattr(declared, "cost", None)
    for path, costs in ((base, [of_source]), *_below(base, declared, of_source)):
        if costs[-1] is None:
            continue
        try:
            price = price_of(*costs)
        except ValueError as error:
            yield document.error((*path, "cost"), str(error))
            continue
        currencies_named |= {price.currency} if price is not None else set()
        if len(currencies_named) > 1:
            currencies = " and ".join(sorted(currencies_named))
            yield document.error((*path, "cost"), f"a source charges in one currency, not {currencies}")
            return


def _below(
    base: tuple[Key, ...], declared: Any, of_source: RequestCost | None
) -> Iterator[tuple[tuple[Key, ...], list[RequestCost | None]]]:
    for kind in ("tables", "functions"):
        for name, table in (getattr(declared, kind, None) or {}).items():
            yield (*base, kind, name), [of_source, table.cost]
            for part in ("scan", "lookups"):
                for number, access in enumerate(getattr(table, part, None) or ()):
                    yield (
                        (*base, kind, name, part, number),
                        [of_source, table.cost, getattr(access, "cost", None)],
                    )
