"""One question of a reading as one request: URL, parameters, headers, body; and whom it may go to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import urlsplit, urlunsplit

from fff.catalog import Keys
from fff.errors import SourceError
from fff.structs import Struct, replace
from fff.web.addresses import host_allowed, origin_of, without_user
from fff.web.redaction import tells_who_asks
from fff.web.secrets import SECRET_PARAMS, Secrets
from fff.web.types import Credentials, HostPolicy, Request, ResponseMemory
from fff_sources.adapter import SourceContext
from fff_sources.document import texts
from fff_sources.http import templates
from fff_sources.http.paging.paginators import Ask
from fff_sources.http.request.jobs import SUBMITTED
from fff_sources.http.request.parameters import (
    SentValue,
    beside_body,
    key_values,
    parameters,
    placed,
    qualifying,
    selecting,
    sorting,
)
from fff_sources.http.spec import spec
from fff_sources.http.spec.settings import base_url_variable, check_base_url
from fff_sources.http.tables import HttpAccess, PlannedTable, QualifiedWords, Question, SortedWords

_WHOLE = ("http://", "https://")
_SENT = frozenset({"params", "json", "form"})
_SHORTEST = (
    8  # characters of a text in the spec that is hidden for its name; shorter ones are words, such as `basic`
)


class HostParts(Struct, frozen=True):
    """The parts of `client` with their secrets filled in."""

    base_url: str
    headers: Mapping[str, str]
    params: spec.Params
    moved: bool  # whether the base URL is the variable's: then other hosts of the source are there, too


class RequestPattern(Struct, frozen=True):
    """What the requests of a lookup have in common where nothing but the key changes: the rest is made once."""

    access: HttpAccess
    url: tuple[
        str | tuple[int, int], ...
    ]  # texts, and which part of the key stands there on how many places at least
    params: tuple[tuple[str, str], ...]  # before those that carry keys
    sent: tuple[tuple[str, int], ...]  # those: which part of the key each carries
    asked: Mapping[str, str]  # after them: what the paginator asks for
    first: Request

    def request(
        self, key: tuple[object, ...], credentials: Credentials, memory: ResponseMemory | None
    ) -> Request:
        """The request for a key."""
        texts = [templates.text_of(value) for value in key]
        url = [
            part if isinstance(part, str) else templates.segment(texts[part[0]]).zfill(part[1])
            for part in self.url
        ]
        sent = [(name, texts[at]) for name, at in self.sent]
        return replace(
            self.first,
            url="".join(url),
            params=(*self.params, *sent, *self.asked.items()),
            credentials=credentials,
            memory=memory,
        )


def _written(context: SourceContext) -> Iterator[str]:
    """Secrets that stand in the spec itself: in headers, parameters and bodies, where their names are those of secrets."""
    sources = context.document.data.get("sources") or {}
    for path, text in texts(sources.get(context.name)):
        name, within = str(path[-1]), {str(part) for part in path[:-1]}
        sent = "headers" in within and tells_who_asks(name)
        if (sent or (within & _SENT and name.lower() in SECRET_PARAMS)) and "{" not in text:
            secret = text.rpartition(" ")[2] if sent else text  # behind `Bearer`
            if len(secret) >= _SHORTEST:
                yield secret


class Requests:
    """Makes the requests of one source.

    Args:
        context: whose, what shows them, and where the base URL may be overridden.
        declared: what the spec says of the host.
        secrets: fills texts that templates go through after it.
        policy: the rules of the host.
    """

    def __init__(
        self, context: SourceContext, declared: spec.Client, secrets: Secrets, policy: HostPolicy
    ) -> None:
        self._context = context
        self._name = context.name
        self._declared = declared
        self._client = context.client
        self._secrets = secrets
        self._environ = context.environ
        self._policy = policy
        self._host: HostParts | None = None

    def host(self) -> HostParts:
        """The host with its secrets filled in, looked up when it is first needed.

        Raises SecretError, SpecError.
        """
        if self._host is None:
            declared, fill = self._declared, self._secrets.fill
            self._context.check_files(declared.network)
            override = self._environ.get(base_url_variable(self._name))
            base_url = override or templates.fill_text(fill(declared.base_url), {})
            check_base_url(self._context, base_url, overridden=bool(override))
            for secret in _written(self._context):
                self._client.redactor.add(secret)
            self._host = HostParts(
                base_url,
                {
                    name: fill(text)
                    for name, text in declared.headers.items()
                    if not self._secrets.lacks(text)
                },
                declared.params,
                bool(override),
            )
        return self._host

    def of(
        self,
        planned: PlannedTable,
        access: HttpAccess,
        keys: Keys,
        ask: Ask,
        *,
        columns: Sequence[str],
        credentials: Credentials,
        memory: ResponseMemory | None,
        question: Question | None = None,
    ) -> Request:
        """The request for the columns of the rows of these keys (all rows without any), or for `question`.

        Raises SourceError, SecretError.
        """
        plain = question is None and ask.is_plain and len(keys) == 1 and not planned.table.quals
        known: RequestPattern | None = planned.patterns.get(id(access)) if plain else None
        if known is not None and known.access is access and known.asked == ask.params:
            return known.request(keys[0], credentials, memory)
        request = self._made(
            planned,
            access,
            keys,
            ask,
            columns=columns,
            credentials=credentials,
            memory=memory,
            question=question,
        )
        if plain and (pattern := self._pattern(planned, access, ask, request)) is not None:
            again = pattern.request(keys[0], credentials, memory)
            if (again.url, again.params) == (request.url, request.params):
                planned.patterns[id(access)] = pattern
        return request

    def _pattern(
        self, planned: PlannedTable, access: HttpAccess, ask: Ask, request: Request
    ) -> RequestPattern | None:
        """What requests for other keys are made by; None where more of them may change than the keys themselves."""
        host, endpoint = self.host(), access.endpoint
        texts = [*host.headers.values(), *endpoint.headers.values()]
        for declared in (*host.params.values(), *endpoint.params.values()):
            texts += declared if isinstance(declared, list) else [declared or ""]
        varies = planned.table.quals or access.words is not None or access.variant or access.variants
        if varies or endpoint.select or endpoint.body is not None or endpoint.body_paths:
            return None
        if not isinstance(endpoint.counts_as, int) or endpoint.job is not None:
            return None
        if any("{" in text or "}" in text for text in texts):
            return None
        sent = tuple((access.params[key], at) for at, key in enumerate(access.keys) if key in access.params)
        before = len(request.params) - len(ask.params) - len(sent)
        path = self._secrets.fill(endpoint.path or "")
        head, *rest = templates.pieces(path)
        if str(head).startswith(_WHOLE) and "/" not in str(head).partition("://")[2]:
            return None  # keys name the host: whether secrets may go there is for each of them to be seen
        places = {key: at for at, key in enumerate(access.keys)}
        url = [part if isinstance(part, str) else (places[part[0]], part[1]) for part in rest]
        root = _join(host.base_url, str(head) or "/") if path else host.base_url
        return RequestPattern(
            access, (root, *url), request.params[: max(0, before)], sent, ask.params, request
        )

    def _made(
        self,
        planned: PlannedTable,
        access: HttpAccess,
        keys: Keys,
        ask: Ask,
        *,
        columns: Sequence[str],
        credentials: Credentials,
        memory: ResponseMemory | None,
        question: Question | None,
    ) -> Request:
        host = self.host()
        endpoint, fill = access.endpoint, self._secrets.fill
        values = key_values(access, keys)
        quals = planned.table.quals_beside((*access.keys, *access.variant))
        words = access.words
        if quals and isinstance(words, QualifiedWords):
            words = words.qualified(quals)
        if planned.table.sort is not None and not keys and isinstance(words, SortedWords):
            words = words.sorted(planned.table.sort)
        if words is not None:
            question = words.question(columns, keys, ask.params)
        headers = {**host.headers, **{name: fill(text) for name, text in endpoint.headers.items()}}
        if headers:
            texts = {name: value.text for name, value in values.items()}
            headers = {name: templates.fill_text(text, texts) for name, text in headers.items()}
        if question is not None:
            headers |= question.headers
        body, form = None, None
        sent: dict[str, SentValue] = {}
        own = True
        if ask.url is not None:
            url, credentials, own = self._followed(planned, ask, host, credentials)
            headers = headers if own else self._client.public_headers(headers)
            params: tuple[tuple[str, str], ...] = ()
        elif question is not None:
            url = _join(host.base_url, question.path)
            params = (*parameters(host.params, values, self._secrets), *question.params)
            body, form = question.json, question.form
        else:
            path = fill(endpoint.path or "")
            if "{" in path or "}" in path:
                path = templates.fill_text(path, {name: value.segment for name, value in values.items()})
            if host.moved and path.startswith(_WHOLE) and host_allowed(path, self._policy.allowed_hosts):
                path = urlsplit(path)._replace(scheme="", netloc="").geturl()
            url = _join(host.base_url, path)
            declared = {**host.params, **endpoint.params}
            if ask.only is not None:
                declared = {name: text for name, text in declared.items() if name in ask.only}
            sent = qualifying(planned.table, quals, declared) | selecting(planned, endpoint.select, columns)
            sent |= {} if keys else sorting(planned, endpoint.sort)
            sent |= {
                access.params[key]: SentValue(value.sent, templates.json_value(value.json))
                for key, value in values.items()
                if key in access.params
            }
            if ask.only is not None:
                sent = {name: one for name, one in sent.items() if name in ask.only}
            params = parameters(declared, values, self._secrets, *beside_body(endpoint, ask, sent))
        if endpoint.body is not None:
            body = templates.fill_json(
                self._secrets.fill_all(endpoint.body), {name: value.json for name, value in values.items()}
            )
        if ask.body is not None:
            body = _merged(body, ask.body) if ask.merge else ask.body
        if question is None and ask.url is None:
            body = placed(body, endpoint, ask, sent)
            own = self._is_ours(url, host)
        method = ask.method if ask.method in ("GET", "POST") else endpoint.method
        request = Request(
            url=url,
            method=method,
            params=params,
            headers=headers,
            json=None if ask.method == "GET" else body,
            form=form,
            credentials=credentials,
            policy=self._policy if own else self._policy.elsewhere,
            accept=frozenset(rule.status_code for rule in planned.spec.on_status)
            | (frozenset() if question is None else question.accept)
            | (SUBMITTED if endpoint.job is not None and ask.url is None else frozenset()),
            source=self._name,
            table=planned.table.name,
            memory=memory,
            units=_units(access, keys),
        )
        if not own:
            self._keep_to_ourselves(request, followed=ask.url is not None)
        return request

    def _is_ours(self, url: str, host: HostParts) -> bool:
        """Whether a URL of the spec is on a host that its secrets are for. Raises SourceError where it is none."""
        if url.startswith(f"{host.base_url.rstrip('/')}/"):
            return True
        try:
            origin_of(url)
            if host_allowed(url, self._policy.allowed_hosts):
                return True
        except ValueError as error:  # a key that stands in the place of the port, say
            raise SourceError(
                f"not a usable URL: {error}", source=self._name, url=self._client.shown(url)
            ) from None
        there, ours = urlsplit(url), map(urlsplit, (host.base_url, self._declared.base_url))
        return any(
            one.netloc.lower() == there.netloc.lower() and there.scheme in (one.scheme, "https")
            for one in ours
        )

    def _keep_to_ourselves(self, request: Request, *, followed: bool) -> None:
        """Raises SourceError where secrets would go to a host that they are not declared for.

        `followed`: the source itself leads there, by a URL whose secrets it knows.
        """
        proof, params = request.credentials, (text for _, text in request.params)
        texts = [*request.headers.values(), *params, str(request.json), str(request.form)]
        texts += [] if followed else [request.url]
        if proof.headers or proof.params or proof.sign or any(map(self._client.redactor.holds_secret, texts)):
            hint = "list the host under client.allowed_hosts if it belongs to the source"
            if followed:
                hint = "name the secret in client.auth or client.headers, not in the body: a next page there goes without them"
            raise SourceError(
                "refused to send secrets to a host other than that of base_url",
                source=self._name,
                table=request.table,
                url=self._client.shown(request.url),
                hint=hint,
            )

    def _followed(
        self, planned: PlannedTable, ask: Ask, host: HostParts, credentials: Credentials
    ) -> tuple[str, Credentials, bool]:
        """A URL the source gave for its next page, and whether it is on the declared host; elsewhere no credentials go.

        One in the clear, from an answer that came encrypted, is refused as such a redirect is.
        """
        here, url = urlsplit(host.base_url), ask.url or ""
        try:
            url = without_user(url)
            there = urlsplit(url)
            own = there.port is None or there.port > 0  # reading the port checks it
        except ValueError:
            own, there = False, urlsplit("")
        if own and (
            here.scheme == "https"
            and there.scheme == "http"
            and there.hostname == here.hostname
            and not there.port
        ):
            url, there = urlunsplit(there._replace(scheme="https")), there._replace(scheme="https")
        if there.scheme == "http" and urlsplit(ask.origin or "").scheme == "https":
            raise SourceError(
                "refused to follow the next page from https to http",
                source=self._name,
                table=planned.table.name,
                url=self._client.shown(url),
            )
        if (there.scheme, there.netloc.rpartition("@")[2]) == (here.scheme, here.netloc.rpartition("@")[2]):
            carried = {pair.split("=", 1)[0] for pair in there.query.split("&")}
            params = {name: text for name, text in credentials.params.items() if name not in carried}
            return url, replace(credentials, params=params), True
        if there.scheme in ("http", "https") and host_allowed(url, self._policy.allowed_hosts):
            return url, Credentials(), False
        raise SourceError(
            "refused to follow the next page to another host",
            source=self._name,
            table=planned.table.name,
            url=self._client.shown(url),
            hint="list the host under client.allowed_hosts if it belongs to the source",
        )


def _join(base_url: str, path: str) -> str:
    if path.startswith(_WHOLE):
        return path
    return f"{base_url.rstrip('/')}/{path.lstrip('/')}" if path else base_url


def _units(access: HttpAccess, keys: Keys) -> int:
    """As how many requests of declared limits one for these keys counts."""
    counted = access.endpoint.counts_as
    if isinstance(counted, int):
        return counted
    return sum(counted.units(dict(zip(access.keys, key, strict=True))) for key in keys)


def _merged(own: object, theirs: object) -> object:
    """What a link sends on top of what was sent, where both are mappings."""
    return {**own, **theirs} if isinstance(own, dict) and isinstance(theirs, dict) else theirs
