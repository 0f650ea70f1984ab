"""What may be spent, of requests, money and memory: a budget goes with the meter that every request is sent with, and pays for it. Amounts are exact."""

from __future__ import annotations

import re
from collections.abc import Collection
from decimal import Decimal, InvalidOperation

from fff.display.counts import counted
from fff.errors import SourceError, UsageError
from fff.structs import Struct, lazy_pattern

_BYTES = lazy_pattern(r"\s*(?P<number>[0-9]+(\.[0-9]+)?)\s*(?P<unit>[kmgt]?i?)b?\s*", re.IGNORECASE)
_MONEY = lazy_pattern(r"\s*(?P<amount>[0-9.eE+-]+)\s*(?P<currency>[A-Za-z]{1,16})?\s*")


class Money(Struct, frozen=True):
    """An amount in a currency: a code such as USD, or any other unit that a source counts in, such as credits.

    `currency` is empty only of a budget that does not name one.
    """

    amount: Decimal
    currency: str = ""

    @classmethod
    def parse(cls, text: object) -> Money:
        """Of a budget as people write it: 0.5, "0.50", "0.50 EUR". Raises UsageError."""
        if isinstance(text, cls):
            return text
        written = _MONEY.fullmatch(str(text))
        try:
            amount = Decimal(written["amount"]) if written is not None else Decimal("nan")
        except InvalidOperation:
            amount = Decimal("nan")
        if written is None or not amount.is_finite() or amount < 0:
            raise UsageError(
                f"budget must be an amount of money, not {text!r}",
                hint="such as 0.50, or '0.50 EUR' where sources charge in several currencies",
            )
        return cls(amount, written["currency"] or "")

    def times(self, number: int) -> Money:
        """So many of it."""
        return Money(self.amount * number, self.currency)

    def __str__(self) -> str:
        text = f"{self.amount:f}"
        return f"{text} {self.currency}" if self.currency else text


def parse_bytes(text: object) -> int:
    """Bytes of a size as people write it: 512MB, "1.5 GiB" (units of 1024), 200000000. Raises UsageError."""
    written = _BYTES.fullmatch(str(text))
    unit = written["unit"].lower() if written is not None else ""
    size = (
        0
        if written is None or unit == "i"
        else float(written["number"])
        * (1024 if "i" in unit else 1000) ** (" kmgt".index(unit[0]) if unit else 0)
    )
    if size < 1:
        raise UsageError(f"memory_limit must be a size, not {text!r}", hint="such as 512MB or 2GiB")
    return int(size)


def format_bytes(size: float) -> str:
    """A size for people, in the largest unit that it fills: 512 MB."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if size >= scale:
            return f"{size / scale:.4g} {unit}"
    return f"{size:.0f} B"


class BudgetExhausted(SourceError):  # noqa: N818 - the noun the engine asks for
    """The budget is used up: this request was not sent."""


class Budget:
    """What a statement, or a script of several, may send: `requests` and `money` at most, retries and redirects included.

    `within`: a budget that several share, which pays for each request as well. Compared by identity: two budgets of the
    same size are two.
    """

    def __init__(
        self, requests: int | None = None, money: Money | None = None, within: Budget | None = None
    ) -> None:
        self.requests = requests
        self.money = money
        self.within = within
        self.spent = 0
        self.refused = False  # whether a request was not sent for its sake
        self.paid = Decimal(0)

    @classmethod
    def of(cls, requests: int | None, money: Money | None, within: Budget | None = None) -> Budget | None:
        """The shared one itself where nothing else bounds what is spent; None where nothing does."""
        return within if requests is None and money is None else cls(requests, money, within)

    def check(self, currencies: Collection[str]) -> None:
        """Raise UsageError where sources charge in a currency that the money is not in; it takes on the only one there is."""
        if self.money is None or not currencies:
            return
        if not self.money.currency and len(set(currencies)) == 1:
            self.money = Money(self.money.amount, next(iter(currencies)))
        if set(currencies) != {self.money.currency}:
            raise UsageError(
                f"the sources of the query charge in {' and '.join(sorted(set(currencies)))}, "
                f"and the budget is {self.money}: it can be in one currency only",
                hint="state the prices in one currency (`cost` in the specs), and name it: --budget '0.50 USD'",
            )

    def charge(self, source: str | None, table: str | None, price: Money | None = None) -> None:
        """Pay for a request that is about to be sent. Raises BudgetExhausted, for that source and table."""
        if self.requests is not None and self.spent >= self.requests:
            self.refused = True
            raise BudgetExhausted(
                f"the budget of {counted(self.requests, 'request')} is used up",
                source=source,
                table=table,
                hint="allow more: --max-requests, or max_requests in Python",
            )
        cost = Decimal(0)
        if self.money is not None and price is not None and price.amount:
            self.check({price.currency})
            cost = price.amount
            if self.paid + cost > self.money.amount:
                self.refused = True
                raise BudgetExhausted(
                    f"the budget of {self.money} is used up",
                    source=source,
                    table=table,
                    hint="allow more: --budget, or budget in Python",
                )
        if self.within is not None:
            try:
                self.within.charge(source, table, price)
            except BudgetExhausted:
                self.refused = True
                raise
        self.paid += cost
        self.spent += 1

    def refund(self, price: Money | None = None) -> None:
        """Take back what a request has paid that was not sent after all."""
        if self.within is not None:
            self.within.refund(price)
        self.spent -= 1
        if self.money is not None and price is not None:
            self.paid -= price.amount
