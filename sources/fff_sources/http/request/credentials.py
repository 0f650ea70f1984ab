"""Several credentials for one source: each request takes the one that may be sent first."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from http import HTTPStatus

from fff.errors import SourceError
from fff.stats import AccessMeter
from fff.structs import Struct
from fff.web.client import WebClient
from fff.web.types import HostPolicy, Response
from fff_sources.http.request.auth import Authenticator, Make
from fff_sources.http.request.tokens import LoginEndedError, NotLoggedInError

_REFUSED = frozenset({401, 403})
_SLOW_DOWN = frozenset({429, 503})


class _Member(Struct, eq=False):
    """A credential, and how many requests have taken it and are not over."""

    number: int
    proof: Authenticator
    taken: int = 0
    aside: bool = False


class CredentialPool:
    """The credentials of one source, whose answers are the same for each.

    One that is refused (401, 403) where another is not is set aside for the rest of the run, with a warning.
    One that is told to slow down is left alone for as long, and the request goes to another.

    Args:
        proofs: one at least.
        client: what sends.
        source: its name.
        base_url: gives that of the source, as this run has it.
    """

    def __init__(
        self, proofs: Sequence[Authenticator], client: WebClient, source: str, *, base_url: Callable[[], str]
    ) -> None:
        self._members = [_Member(number, proof) for number, proof in enumerate(proofs, 1)]
        self._client = client
        self._source = source
        self._base_url = base_url

    def __len__(self) -> int:
        return len(self._members)

    @property
    def proofs(self) -> list[Authenticator]:
        """All of them."""
        return [one.proof for one in self._members]

    def answer(self, make: Make, policy: HostPolicy, meter: AccessMeter) -> Coroutine[None, None, Response]:
        """The answer to a request. Raises SourceError where no credential brings one."""
        if len(self._members) == 1:
            return self._members[0].proof.answer(make, policy, meter, yields=False)
        return self._answer_of_any(make, policy, meter)

    async def _answer_of_any(self, make: Make, policy: HostPolicy, meter: AccessMeter) -> Response:
        tried: list[_Member] = []
        refused: list[_Member] = []
        while True:
            untried = [one for one in self._members if one not in tried]
            left = [one for one in untried if not one.aside] or untried[:1]
            member = await self._freest(left, policy, meter) if len(left) > 1 else left[0]
            member.taken += 1
            try:
                response = await member.proof.answer(make, policy, meter, yields=len(left) > 1)
            except (NotLoggedInError, LoginEndedError):
                if len(left) == 1:
                    raise
                tried.append(member)
                refused.append(member)
                continue
            except SourceError as error:
                busy = await self._is_busy(member, error, policy, meter)
                if len(left) == 1 or not (busy or error.status in _REFUSED):
                    raise
                meter.failed -= 1  # another one asks instead
                meter.retries += 1
                tried.append(member)
                refused += [] if busy else [member]
                continue
            finally:
                member.taken -= 1
            for one in refused:
                self._put_aside(one, meter)
            return response

    async def _is_busy(
        self, member: _Member, error: SourceError, policy: HostPolicy, meter: AccessMeter
    ) -> bool:
        """Whether an error means that the host wants no more of this credential for now."""
        busy_statuses = {*_SLOW_DOWN, *policy.extra_statuses}
        in_words = error.status is not None and error.status < HTTPStatus.BAD_REQUEST
        told = error.throttled or error.status in busy_statuses
        return in_words or told or await self._free_in(member, policy, meter) > 0

    async def _freest(self, members: Sequence[_Member], policy: HostPolicy, meter: AccessMeter) -> _Member:
        """The one whose next request may start first; of those that may at once, the one that is used least."""
        each = []
        for one in members:
            try:
                each.append((await self._free_in(one, policy, meter), one.taken, one.number, one))
            except (
                SourceError,
                NotLoggedInError,
            ):  # it cannot log in: another one asks, and nobody tries that again
                if one is members[-1] and not each:
                    raise
                self._put_aside(one, meter)
        return min(each)[-1]

    async def _free_in(self, member: _Member, policy: HostPolicy, meter: AccessMeter) -> float:
        now = asyncio.get_running_loop().time()
        proof = await member.proof.credentials(policy, meter, now)
        return self._client.free_in(self._base_url(), proof.identity)

    def _put_aside(self, member: _Member, meter: AccessMeter) -> None:
        if not member.aside and sum(not one.aside for one in self._members) > 1:
            member.aside = True
            meter.warn(
                f"{self._source}: credential {member.number} of {len(self)} is refused, and was not used any more: "
                "the others bring the answers"
            )
