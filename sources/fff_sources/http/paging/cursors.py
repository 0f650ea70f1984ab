"""Pages that give values for the next question: `cursor` and `keyset`."""

from __future__ import annotations

from collections.abc import Mapping

from fff_sources.http.paging import conventions
from fff_sources.http.paging.paginators import Ask, Chained, PageAnswer, PaginationError, Told, TotalAt
from fff_sources.http.response.jsonpath import JsonPath
from fff_sources.http.templates import text_of

#: What sources write where there is no further page.
_NOWHERE = frozenset({"", "0", "-1", "null", "none", "false", "undefined"})


class CursorPaginator(Chained):
    """One or several values of an answer, sent back as parameters: `cursor` and `keyset`.

    Args:
        sent: parameter -> place of its value in the answer.
        spread: the place of an object whose every member is a parameter (OpenFEC's `last_indexes`).
        start_params: parameters of the first question.
        reusable: the source sends one cursor with every page and moves on by itself; the pages must differ
            then.
        keeps: the parameters that go along with the values; all, where it is None.
    """

    def __init__(
        self,
        sent: Mapping[str, JsonPath],
        spread: JsonPath | None,
        start_params: Mapping[str, str],
        total: TotalAt,
        *,
        reusable: bool = False,
        keeps: frozenset[str] | None = None,
    ) -> None:
        self._sent = sent
        self._spread = spread
        self._start = start_params
        self._total = total
        first = {name: start_params[name] for name in sent if name in start_params}
        self._seen = {tuple(sorted(first.items()))} if first else set()
        self._reusable = reusable
        self._keeps = keeps
        self._received = 0
        self._longest = 0  # page so far
        steps = [step for path in sent.values() for step in path.steps]
        self._is_plain = spread is None and len(sent) == 1 and all(step.kind != "index" for step in steps)

    @property
    def param(self) -> str | None:
        """Those of the cursors."""
        return ", ".join(self._sent) or None

    def start(self) -> Ask:
        """The endpoint with its page size, and a first cursor where the source wants one."""
        return Ask(self._start)

    def after(self, ask: Ask, answer: PageAnswer) -> Ask | None:
        """The question with the values just received; None where the source gives none."""
        cursor = self._values(answer)
        if not cursor:
            return None
        values = {name: text_of(item) for name, item in cursor.items()}
        # Some alone lead on where the last record has no value for the others, or this was the last page.
        some = self._spread is None and not all(_present(cursor.get(name)) for name in self._sent)
        is_short, self._longest = answer.records < self._longest, max(answer.records, self._longest)
        if some and not self._may_lead_on(values, ask, is_short=is_short):
            return None
        kept = self._keeps
        start = (
            self._start if kept is None else {name: self._start[name] for name in kept & self._start.keys()}
        )
        following = Ask({**start, **values}, values=cursor, only=kept, confirms=some)
        if self._reusable:
            return self._after_reusable(answer, following)
        mark = tuple(sorted(values.items()))
        if mark in self._seen:
            if answer.records == 0:
                return None  # nothing new under a cursor already used: the end, as some sources tell it
            raise PaginationError(f"the cursor {values} came a second time")
        self._seen.add(mark)
        return following

    def total(self, answer: PageAnswer) -> Told | None:
        """The total the answer tells; nothing rests on it, but that a cursor sent again and again ends there."""
        return self._total.total(answer)

    def _may_lead_on(self, values: Mapping[str, str], ask: Ask, *, is_short: bool) -> bool:
        """Whether these of the values are the place of a record, which others, and a length of pages, are not."""
        places = [name for name in values if conventions.normal(name) not in conventions.LENGTHS]
        if not places or values.items() <= ask.params.items():
            return False
        return not is_short or any(step.kind == "index" for name in places for step in self._sent[name].steps)

    def _after_reusable(self, answer: PageAnswer, following: Ask) -> Ask | None:
        """The same cursor again until a page without records or, where there is a total, until that is reached."""
        self._received += answer.records
        if not answer.records or self._received == self._total.exact(answer):
            return None
        return following

    def _values(self, answer: PageAnswer) -> dict[str, object]:
        values = {name: answer.at(path) for name, path in self._sent.items()}
        if self._spread is not None:
            members = answer.at(self._spread)
            if isinstance(members, dict):
                values |= members
            elif members:
                raise PaginationError(f"{self._spread.text!r} is no object of cursor values")
        for name, item in values.items():
            if isinstance(item, dict | list) and item:
                what = "an object" if isinstance(item, dict) else "an array"
                raise PaginationError(
                    f"the cursor {name!r} is {what}, and only a plain value can be sent: name its members"
                )
        if self._is_plain and not all(map(_leads_on, values.values())):
            return {}
        given = {name: item for name, item in values.items() if _present(item)}
        if self._spread is not None or not given:
            return given
        # Beside others these are values of a record: a text may be empty.
        return given | {name: item for name, item in values.items() if item in ("", False)}


def _present(item: object) -> bool:
    return item is not None and item is not False and item not in ("", [], {})


def _leads_on(cursor: object) -> bool:
    """Whether a cursor does that is no value of a record: 0 is where the first page begins, and XML has line ends in a blank one."""
    return _present(cursor) and cursor != 0 and str(cursor).strip().lower() not in _NOWHERE
