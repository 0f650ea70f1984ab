"""Waits that a source asks for in the body of its answers, as Stack Exchange does."""

from __future__ import annotations

from fff.structs import Struct
from fff_sources.http.response.json import MalformedJSON
from fff_sources.http.response.jsonpath import JsonPath, value


class WaitInBody(Struct, frozen=True):
    """Reads from a JSON body how many seconds the source wants to be left alone."""

    path: JsonPath

    def __call__(self, body: bytes) -> float | None:
        """The seconds; None where the body says nothing of the kind."""
        try:
            hint = value(body, self.path) if body.strip() else None
            number = isinstance(hint, int | float | str) and not isinstance(hint, bool)
            seconds = float(str(hint)) if number else None
        except (MalformedJSON, ValueError):
            return None
        return seconds if seconds is not None and 0 <= seconds < float("inf") else None
