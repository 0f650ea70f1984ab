"""WebClient: sends requests under the limits of their hosts, tries again where that helps, and says why where not.

What goes wrong becomes a SourceError here. The network itself is behind `wire.Transport`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import parse_qsl, quote, urlencode, urljoin, urlsplit, urlunsplit

from fff.errors import SourceError
from fff.stats import AccessMeter
from fff.structs import replace
from fff.web.addresses import full_url, host_allowed, origin_of, port_of, turns_to_get, without_user
from fff.web.clock import Clock
from fff.web.gate.breaker import Breaker
from fff.web.gate.limiter import HostLimiter, Permit
from fff.web.gate.rate_limit_headers import may_explain_refusal, quota_wait, quotas
from fff.web.gate.waits import RetryAfterWait, WaitTooLong
from fff.web.retry import (
    PROXY_HINTS,
    Failed,
    Postponed,
    backoff,
    is_retried,
    is_throttle,
    is_whole,
    retry_after,
)
from fff.web.secrets import Redactor
from fff.web.transport import USER_AGENT, Network, Transport, WireError, proof_of
from fff.web.types import Credentials, HostPolicy, Outgoing, Remembered, Request, Response, ResponseMemory
from fff.web.validators import name_of, remembered

if TYPE_CHECKING:
    from fff.web.gate.leased import LeaseLine

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_LEAST_S = 0.01  # of a request's time in which an answer may still come
_EXCERPT = 200  # characters of an error body that are shown
_REDACTED = 2**16  # bytes of an error body that are looked at
_HOPELESS = 10  # times max_attempts: refusals one request may meet while others succeed
_REFUSALS = frozenset({"fail", "retry", "slow_down"})  # what verdicts make no answer of one
_FORBIDDEN = 403
_HINTS = {
    202: "the source has taken the question and has no answer yet",
    206: "the answer is a part of one, and nobody asked for a part",
    **dict.fromkeys((401, _FORBIDDEN), "check client.auth of the source, and the secret it names"),
    **PROXY_HINTS,
}
_SPENT = "try again later, for a quota is used up; or " + _HINTS[_FORBIDDEN]
_CREDENTIAL_HEADERS = frozenset({"authorization", "cookie", "proxy-authorization"})


class WebClient:
    """One session for all sources of a run, with one gate per host and credential.

    Args:
        rng, clock: draw the jitter; time and sleep.
        redactor: removes secrets from everything this client says.
        user_agent, transport: what servers read; what carries the requests, the network by default.
        share: this is one of so many who ask side by side, with so much of the ceilings.
        leases: whence each request has leave in place of that, as long as somebody is there.
    """

    def __init__(
        self,
        *,
        rng: random.Random | None = None,
        clock: Clock | None = None,
        redactor: Redactor | None = None,
        user_agent: str = USER_AGENT,
        transport: Transport | None = None,
        share: int = 1,
        leases: LeaseLine | None = None,
    ) -> None:
        self.requests_sent = 0
        self._share = share
        self._leases = leases
        self.redactor = redactor or Redactor()
        self._rng = rng or random.Random()
        self.clock = clock or Clock()
        self._transport = transport or Network(user_agent)
        self._limiters: dict[tuple[str, str], HostLimiter] = {}
        self._postponed = Postponed()
        self._origins: dict[str, str] = {}  # what URLs begin with -> scheme, host and port

    def rules(self, declared: HostPolicy, of: int = 1) -> HostPolicy:
        """What this client keeps of a host's rules, one of so many: all of them where each request is leased."""
        return declared if self._leases is not None else declared.shared(max(of, self._share))

    def request(self, req: Request, *, meter: AccessMeter) -> Coroutine[None, None, Response]:
        """The answer to `req`, read to its end. Counted by `meter`, and paid for by its budget.

        While the host is in doubt, requests of the meter's access method go one by one, and none once it is given up.

        Raises:
            SourceError: no answer with a status of 2xx or in `req.accept` could be had.
            BudgetExhausted: the meter's budget is used up.
        """
        key = self._origin(req.url), req.credentials.identity
        breaker: Breaker | None = meter.breakers.get(key)
        if breaker is None:
            breaker = meter.breakers[key] = Breaker(req.policy)
        return (self._in_turn if breaker.is_open else self._attempts)(req, meter, breaker)

    async def _in_turn(self, req: Request, meter: AccessMeter, breaker: Breaker) -> Response:
        """The answer of a host in doubt: one request finds out how it is."""
        async with breaker.turn:
            if breaker.given_up:
                self._give_up(req, breaker, meter)
            if breaker.is_open:
                await self.clock.sleep(min(req.policy.max_delay, req.policy.base_delay * 2**breaker.tried))
                return await self._attempts(req, meter, breaker)
        return await self._attempts(req, meter, breaker)

    def _give_up(self, req: Request, breaker: Breaker, meter: AccessMeter) -> NoReturn:
        """Nothing is sent to a host that was given up."""
        meter.failed += 1
        self._fail(req, Failed(f"not asked: {breaker.row}", again=False, hint=breaker.hint), 0)

    async def _attempts(self, req: Request, meter: AccessMeter, breaker: Breaker) -> Response:
        attempt = refusals = 0
        spent = 0.0
        told = ""  # by the server that refused, beside how long to wait
        while True:
            if breaker.given_up:
                self._give_up(req, breaker, meter)
            attempt += 1
            limiter = self._limiter(req)
            successes = limiter.successes
            try:
                response = await self._send(req, limiter, meter, breaker)
                if response.status in _REDIRECTS:
                    response = await self._follow(req, response, meter, breaker)
            except WaitTooLong as long:
                meter.failed += 1
                hint = long.hint if long.declared else f"{long.hint}{told}"
                self._fail(req, Failed(long.reason, again=False, hint=hint), attempt)
            except Failed as failure:
                if failure.wait:
                    self._postponed.note(req, self.clock.now() + failure.wait)
                if failure.refusal:
                    self._note(req, breaker, meter, breaker.refused)
                    refusals += 1
                    told = f"\n  {': '.join(filter(None, (failure.reason, failure.hint)))}"
                    if failure.status == _FORBIDDEN:
                        req = replace(req, forbidden=True)
                    if limiter.successes > successes and refusals < _HOPELESS * req.policy.max_attempts:
                        attempt -= 1  # the host works, there were just too many of us
                if failure.stale:  # happens once: it goes again over a connection of its own
                    attempt, req = attempt - 1, replace(req, fresh=True)
                elif failure.silent:
                    breaker.failed(failure.seconds)
                elif failure.status is not None and not failure.refusal:
                    breaker.request_answered()
                spent += failure.seconds
                left = req.policy.total_timeout - spent
                if not failure.again or attempt >= req.policy.max_attempts or left < _LEAST_S:
                    if failure.silent:
                        self._note(req, breaker, meter, breaker.request_failed)
                    meter.failed += 1
                    self._fail(req, failure, attempt)
                meter.retries += 1
                wait = failure.wait or 0.0
                if failure.wait is None or (failure.status is not None and not failure.refusal):
                    wait = max(wait, backoff(attempt, req.policy, self._rng))
                if failure.wait:
                    await self._wait_alone(wait, meter)
                elif not failure.refusal:
                    await self.clock.sleep(wait)
                if spent > 0:
                    req = replace(req, seconds=left)
            else:
                breaker.request_answered()
                return response if attempt == 1 else replace(response, attempts=attempt)

    def _note(
        self, req: Request, breaker: Breaker, meter: AccessMeter, told: Callable[[float], None]
    ) -> None:
        """What may give a host up comes to pass; said once where it does."""
        before = breaker.given_up
        told(self.clock.now())
        if breaker.given_up and not before:
            whom = f"{origin_of(req.url)} is not asked any more for {req.source}.{req.table}"
            meter.warn(f"{whom}: {breaker.row}")

    async def _wait_alone(self, seconds: float, meter: AccessMeter) -> None:
        """As long as the server told one request to wait, while others may start."""
        began = self.clock.now()
        gate = RetryAfterWait(began + seconds, self.clock)
        alone = not meter.gates
        meter.gates[gate] = 1
        try:
            await self.clock.sleep(seconds)
        finally:
            del meter.gates[gate]
            waited = self.clock.now() - began
            meter.waited["throttled"] = meter.waited.get("throttled", 0.0) + waited
            meter.throttled_s += waited if alone else 0.0  # else somebody's wait is counted already

    def free_in(self, url: str, identity: str) -> float:
        """Seconds until a request to a URL's host may start that proves to be from somebody, as far as that is known."""
        limiter = self._limiters.get((self._origin(url), identity))
        return 0.0 if limiter is None else limiter.free_in()

    def shown(self, url: str) -> str:
        """A URL as it may be shown: without secrets."""
        return self.redactor.url(url)

    async def close(self) -> None:
        """Close the connections. The client may be used again; it then opens new ones."""
        for limiter in self._limiters.values():
            limiter.close()
        if self._leases is not None:
            await self._leases.close()
        await self._transport.close()

    async def _follow(
        self, req: Request, response: Response, meter: AccessMeter, breaker: Breaker
    ) -> Response:
        """What redirects lead to, one after another, all of them to allowed hosts."""
        first = req
        for left in range(req.policy.max_redirects, -1, -1):
            location = response.headers.get("location")
            if response.status in req.accept or response.status not in _REDIRECTS or location is None:
                return response if req is first else replace(response, led=(first, req))
            req = self._redirected(req, response.status, response.url, location)
            if left:
                response = await self._send(req, self._limiter(req), meter, breaker)
        raise Failed(f"more than {req.policy.max_redirects} redirects", again=False)

    def _redirected(self, req: Request, status: int, base: str, location: str) -> Request:
        """The request a redirect asks for; with credentials to no other host or port (https's may replace http's), to no host not allowed."""
        try:
            target = without_user(urljoin(base, location))
            parts, here = urlsplit(target), urlsplit(req.url)
            ports = [one.port or port_of(one.scheme) for one in (here, parts)]
        except ValueError:
            reason = "refused a redirect to something that is not a URL"
            raise Failed(reason, again=False, status=status) from None
        upgraded = (here.scheme, parts.scheme, *ports) == ("http", "https", 80, 443)
        same = parts.hostname == here.hostname and (upgraded or ports[0] == ports[1])
        if parts.scheme not in ("http", "https") or (here.scheme == "https" and parts.scheme == "http"):
            raise Failed(f"refused a redirect to {self.shown(target)}", again=False, status=status)
        credentials, headers, policy = req.credentials, req.headers, req.policy
        turned = turns_to_get(req, status, parts.path)
        if not same:
            if not host_allowed(target, req.policy.allowed_hosts):
                raise Failed(
                    f"refused a redirect to another host: {self.shown(target)}",
                    again=False,
                    status=status,
                    hint="list the host under client.allowed_hosts if it belongs to the source",
                )
            if not turned and self._tells_secrets(req):
                raise Failed(
                    f"refused to send secrets to another host: {self.shown(target)}",
                    again=False,
                    status=status,
                )
            credentials, policy = Credentials(), policy.elsewhere
            headers = self.public_headers(headers)
        elif credentials.params:  # the server may have copied them into the Location
            kept = [
                pair
                for pair in parse_qsl(parts.query, keep_blank_values=True)
                if pair[0] not in credentials.params
            ]
            target = urlunsplit(parts._replace(query=urlencode(kept, quote_via=quote)))
        return replace(
            req,
            url=target,
            params=(),
            headers=headers,
            credentials=credentials,
            policy=policy,
            method="GET" if turned else req.method,
            json=None if turned else req.json,
            form=None if turned else req.form,
        )

    def public_headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        """The headers that may go to a host other than the source's own: none that holds a secret."""
        return {
            name: text
            for name, text in headers.items()
            if name.lower() not in _CREDENTIAL_HEADERS and not self.redactor.holds_secret(text)
        }

    def _tells_secrets(self, req: Request) -> bool:
        body = str(req.json) if req.json is not None else "".join((req.form or {}).values())
        return self.redactor.holds_secret(body)

    async def _send(
        self, req: Request, limiter: HostLimiter, meter: AccessMeter, breaker: Breaker
    ) -> Response:
        """One request over the wire, under the limits of its host."""
        # Paid for before it queues: one that the budget has no request for takes no turn of the host's from others.
        meter.charge(req.source, req.table)
        try:
            permit = await limiter.acquire(meter, req.units)
            while self._postponed and (left := self._postponed.left(req, self.clock.now())) > 0:  # told since
                limiter.unspent(permit)
                await self._wait_alone(left, meter)
                permit = await limiter.acquire(meter, req.units)
            if breaker.given_up:
                limiter.unspent(permit)
                self._give_up(req, breaker, meter)
        except BaseException:
            meter.refund()
            raise
        try:
            self.requests_sent += 1
            began = self.clock.now()
            meter.sent(began)
            try:
                if req.memory is None:
                    out = self._outgoing(req, meter)
                    answer = await self._transport.send(out)
                    meter.bytes += len(answer.body)
                    came = Response(answer.status, answer.headers, answer.body, out.url)
                    response = self._judged(req, came)
                else:
                    response = await self._renewed(req, req.memory, meter)
            except WireError as error:
                if error.overrun:
                    limiter.unanswered(permit)
                reason = self.redactor.text(error.reason)[:_EXCERPT]
                failure = Failed(reason, again=error.again, wait=error.wait, hint=error.hint)
                failure.seconds, failure.stale = self.clock.now() - began, error.stale
                failure.silent = error.again and not error.stale
                raise failure from error
            finally:
                meter.request_answered(self.clock.now(), began)
            self._check(req, response, limiter, permit, meter)
        finally:
            limiter.release(permit)
        return response

    def _withdraw(self, meter: AccessMeter) -> None:
        """A request is cancelled before anything was sent, while a connection is being made, say."""
        self.requests_sent -= 1
        meter.requests -= 1
        meter.refund()

    def _outgoing(self, req: Request, meter: AccessMeter, known: Remembered | None = None) -> Outgoing:
        """What goes over the wire; what is known is sent only if it has changed."""
        url = full_url(req)
        proof = proof_of(req, url)
        return Outgoing(
            req.method,
            url,
            {**req.headers, **proof, **(known.condition if known is not None else {})},
            req.json,
            req.form,
            req.accept,
            req.policy,
            frozenset(proof),
            frozenset(req.credentials.params),
            req.seconds,
            req.arrivals,
            partial(self._withdraw, meter),
            req.fresh,
        )

    async def _renewed(self, req: Request, memory: ResponseMemory, meter: AccessMeter) -> Response:
        """Send and read to the end; what is remembered is sent only if it has changed."""
        name = None if memory.is_empty else name_of(req)
        known = None if name is None else await memory.find(name)
        out = self._outgoing(req, meter, known)
        answer = await self._transport.send(out)
        meter.bytes += len(answer.body)
        if name is not None and known is not None and answer.status == 304:
            meter.revalidated += 1
            memory.renew(name)
            if req.arrivals is not None:  # which may have heard of a newer body that broke off
                req.arrivals.begin(known.headers)
                req.arrivals.take(known.body)
            kept = Response(200, known.renewed(answer.headers), known.body, out.url, renewed=True)
            return self._judged(req, kept)
        response = self._judged(req, Response(answer.status, answer.headers, answer.body, out.url))
        refused = response.verdict is not None and response.verdict.action in _REFUSALS
        new = None if refused else remembered(answer, req.policy)
        if new is not None and (name := name_of(req)) is not None and not self._repeats_secrets(new):
            await memory.keep(name, (req.source or "", req.table or ""), new)
        return response

    @staticmethod
    def _judged(req: Request, response: Response) -> Response:
        """The answer with what its body says of it, where anybody knows how to read that."""
        if req.judge is None or not (is_whole(response.status, req.headers) or response.status in req.accept):
            return response
        return replace(response, verdict=req.judge(response))

    def _repeats_secrets(self, answer: Remembered) -> bool:
        """Whether a secret stands in the answer, as in a link to the next page: it must not come to the disk."""
        return self.redactor.in_data(answer.body) or self.redactor.in_data(answer.said)

    def _check(
        self, req: Request, response: Response, limiter: HostLimiter, permit: Permit, meter: AccessMeter
    ) -> None:
        """Tell the limiter what the answer means for the host; raises Failed unless it is an answer."""
        status, policy, wall = response.status, req.policy, self.clock.wall()
        quotas_left = quotas(response.headers, policy, wall)
        limiter.observe(permit, quotas_left)
        meter.left, meter.each_s = limiter.left()
        if policy.wait_in_body is not None and not response.renewed:
            limiter.pause(policy.wait_in_body(response.body) or 0.0)
        if status == 200 and response.verdict is None and status not in policy.extra_statuses:
            limiter.admitted(permit)  # what follows is about all others
            return
        action = None if response.verdict is None else response.verdict.action
        wait = retry_after(response.headers, wall)
        used_up = status == _FORBIDDEN and wait is None and may_explain_refusal(quotas_left)
        throttled = is_throttle(status, response.headers, policy, used_up=used_up and not req.forbidden)
        hint = _SPENT if used_up and status not in policy.extra_statuses else _HINTS.get(status)
        if (throttled and status not in req.accept) or action == "slow_down":
            meter.throttled += 1
            named = wait or quota_wait(quotas_left)  # a wait of 0, which may be rounded down, names none
            wait = named or policy.base_delay + backoff(1, policy, self._rng)
            failure = self._failure(
                response,
                again=not req.yields,
                wait=limiter.refused(permit, wait, wait_named=named is not None),
                hint=hint if named is None or hint is _SPENT else None,
            )
            failure.refusal, failure.silent = True, False
            raise failure
        if (is_answered := is_answer(req, response)) or status < 500:
            limiter.admitted(permit)
        if not is_answered:
            again = action == "retry" or is_retried(status, policy) or (status == 202 and wait is not None)
            wait_then = wait if again else None
            failure = self._failure(response, again=again, wait=wait_then, hint=hint)
            if again and wait is not None and wait > policy.max_wait:
                failure.again, failure.wait, long = False, None, WaitTooLong(wait)
                failure.hint = "; ".join(filter(None, (f"{long.reason}: {long.hint}", failure.hint)))
            raise failure

    def _failure(self, response: Response, *, again: bool, wait: float | None, hint: str | None) -> Failed:
        if response.verdict is not None:
            words = self.redactor.line(response.verdict.words, _EXCERPT)
            return Failed(f"the answer says {words}", again=again, status=response.status, wait=wait)
        if excerpt := self._excerpt(response):
            hint = f"{'' if hint is None else f'{hint}; '}the server says: {excerpt}"
        failure = Failed(f"HTTP {response.status}", again=again, status=response.status, hint=hint, wait=wait)
        failure.date = response.headers.get("date")
        return failure

    def _excerpt(self, response: Response) -> str:
        kind = response.headers.get("content-type", "")
        if not kind.startswith(("application/json", "application/problem+json", "text/plain")):
            return ""
        text = response.body[:_REDACTED].decode("utf-8", "replace")
        return self.redactor.line(text if len(response.body) <= _REDACTED else f"{text}…", _EXCERPT)

    def _origin(self, url: str) -> str:
        """Scheme, host and port of a URL; its path is not looked at more than once for each beginning."""
        end = url.find("/", url.find("//") + 2)
        root = url if end < 0 else url[:end]
        origin = self._origins.get(root)
        if origin is None:
            origin = self._origins[root] = origin_of(url)
        return origin

    def _limiter(self, req: Request) -> HostLimiter:
        key = (self._origin(req.url), req.credentials.identity)
        limiter = self._limiters.get(key)
        if limiter is None:
            leases, policy = self._leases, req.policy
            limiter = leases.limiter(key, policy) if leases else HostLimiter(policy, self.clock)
            self._limiters[key] = limiter
        elif req.policy is not limiter.policy:
            limiter.tighten(req.policy)
        return limiter

    def _fail(self, req: Request, failure: Failed, attempts: int) -> NoReturn:
        raise SourceError(
            failure.reason,
            source=req.source,
            table=req.table,
            url=self.shown(full_url(req)),
            status=failure.status,
            attempts=attempts,
            hint=failure.hint,
            date=failure.date,
            throttled=failure.refusal,
        ) from None


def is_answer(req: Request, response: Response) -> bool:
    """Whether it answers the request, by its status and its own words; a redirect is an answer, too."""
    if response.verdict is not None and response.verdict.action in _REFUSALS:
        return False
    redirect = response.status in _REDIRECTS and "location" in response.headers
    return redirect or response.status in req.accept or is_whole(response.status, req.headers)
