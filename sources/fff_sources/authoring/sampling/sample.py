"""A sample URL, asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fff.errors import SourceError
from fff.stats import AccessMeter
from fff.web.client import WebClient
from fff.web.types import Credentials, HostPolicy, Request, Response
from fff_sources.authoring.sampling.address import Address
from fff_sources.authoring.sampling.credentials import Proof
from fff_sources.authoring.sampling.form import Content, read_content
from fff_sources.authoring.sampling.shape import Shape, find_records

_REQUESTS = 5  # in all, the sample among them


@dataclass
class Sample:
    """The sample URL and what was learnt from asking it."""

    client: WebClient
    address: Address
    proof: Proof
    unsure: list[str] = field(default_factory=list)
    meter: AccessMeter = field(default_factory=AccessMeter)
    asked: int = 0

    async def ask(
        self, changed: Mapping[str, str] | None = None, *, url: str | None = None, path: str | None = None
    ) -> Response:
        """The sample, with some parameters changed; or another URL of the host. Raises SourceError.

        That is also how it ends when enough has been asked.
        """
        if self.asked == _REQUESTS:
            raise SourceError(f"{_REQUESTS} requests are enough for a draft")
        self.asked += 1
        params = tuple((name, value) for name, value in self.address.params if name not in (changed or {}))
        whole = url is not None
        return await self.client.request(
            Request(
                url if url is not None else self.address.url(path),
                params=() if whole or path is not None else (*params, *(changed or {}).items()),
                headers=self.proof.headers,
                credentials=Credentials({}, {} if whole else self.proof.params),
                policy=HostPolicy(max_attempts=2, max_wait=10),
            ),
            meter=self.meter,
        )

    async def records_of(self, response: Response, content: Content, shape: Shape) -> list[Any]:
        """The records of another answer of the same kind; none where it has another form."""
        answer = read_content(response, self.client)
        if answer.format != content.format:
            return []
        other = find_records(answer.value, self.address.collection)
        return other.records if other.selector == shape.selector else []
