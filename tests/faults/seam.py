"""The sources of the matrix without sockets: whole statements meet their behaviours in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from fff.web.transport import WireError
from fff.web.types import Outgoing, RawResponse
from tests.faults.cells import Played
from tests.faults.wire import Asked


class Seam:
    """A `Transport`: the first part of the path names the source. What only bytes can show is a broken connection here."""

    def __init__(self, sources: Mapping[str, Played]) -> None:
        self._sources = sources

    async def send(self, out: Outgoing) -> RawResponse:
        """The answer of the source that the URL names."""
        target = "/" + out.url.split("/", 3)[3]
        reply = self._sources[target.split("/")[1]].answer(Asked(target, out.headers))
        await asyncio.sleep(0.01)
        if reply.raw is not None or reply.sent is not None or reply.then != "keep":
            raise WireError("connection broken", again=True)
        return RawResponse(
            reply.status, {name.lower(): text for name, text in reply.headers.items()}, reply.body
        )

    async def close(self) -> None:
        """Nothing to release."""
