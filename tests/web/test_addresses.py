"""Names that lead into private networks: looked at after resolution, and connected to as they were looked at."""

from __future__ import annotations

import random
import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult

from fff.errors import SourceError
from fff.stats import AccessMeter
from fff.web.addresses import is_private_address, is_private_name
from fff.web.client import WebClient
from fff.web.transport import PrivateAddressError, PublicResolver
from fff.web.types import HostPolicy, Request
from tests.web.serving import FakeTime, Serve

PUBLIC = "93.184.216.34"


@pytest.fixture
async def client() -> AsyncIterator[WebClient]:
    client = WebClient(rng=random.Random(1), clock=FakeTime().clock)
    yield client
    await client.close()


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """What names resolve to, one answer after the other; and in `asked` how often each was looked up."""
    known: dict[str, list[str]] = {}
    real = socket.getaddrinfo

    def resolve(host: str, port: int, *more: Any, **options: Any) -> Any:
        if host not in known:
            return real(host, port, *more, **options)
        addresses = known[host]
        one = addresses.pop(0) if len(addresses) > 1 else addresses[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return known


def test_which_addresses_are_private() -> None:
    private = [
        "127.0.0.1",
        "10.1.2.3",
        "172.31.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
    ]
    private += ["::1", "::", "fe80::1%eth0", "fd00::1", "::ffff:127.0.0.1", "64:ff9b::a00:1", "2002:7f00:1::"]
    private += ["::127.0.0.1", "::ffff:0:10.0.0.1", "64:ff9b:1::a00:1", "192.0.0.170"]
    public = [PUBLIC, "172.32.0.1", "100.128.0.1", "2606:2800:220:1::1", "::ffff:8.8.8.8", "64:ff9b::808:808"]
    assert [one for one in private if not is_private_address(one)] == []
    assert [one for one in public if is_private_address(one)] == []


def test_which_names_say_where_they_lead() -> None:
    told = [
        "localhost",
        "api",
        "127.0.0.1",
        "::1",
        "a.localhost",
        "printer.local",
        "x.internal.",
        "A.LAN",
        "x.home.arpa",
    ]
    assert [one for one in told if not is_private_name(one)] == []
    assert not any(
        map(is_private_name, ["example.com", "localhost.example.com", "127.0.0.1.nip.io", "local.x.org."])
    )


async def answer(asked: web.Request) -> web.Response:
    return web.Response(text="inside")


def request(url: str, **policy: Any) -> Request:
    return Request(url, policy=HostPolicy(max_attempts=3, **policy), source="gov", table="t")


async def test_a_public_name_that_leads_inside_is_refused(
    serve: Serve, client: WebClient, names: dict[str, list[str]]
) -> None:
    server = await serve(answer)
    names["api.example.org"] = ["127.0.0.1"]
    url, meter = f"http://api.example.org:{server.port}/", AccessMeter()
    with pytest.raises(SourceError, match=r"api\.example\.org leads to 127\.0\.0\.1, in a private") as error:
        await client.request(request(url), meter=meter)
    assert "client.private_network: true" in str(error.value)
    assert (server.asked, meter.retries) == ([], 0)
    assert (await client.request(request(url, private_network=True), meter=AccessMeter())).body == b"inside"
    with pytest.raises(SourceError, match="in a private network"):  # whatever connections there are by now
        await client.request(request(url), meter=AccessMeter())
    assert len(server.asked) == 1


async def test_a_redirect_leads_inside_by_no_name(
    serve: Serve, client: WebClient, names: dict[str, list[str]]
) -> None:
    """Neither by the address, which the spec does not name, nor by a name that it allows."""
    inside = await serve(answer)
    names["cdn.example.org"] = ["127.0.0.1"]
    for location, said in (
        (f"http://127.0.0.1:{inside.port}/", "refused a redirect to another host"),
        (f"http://cdn.example.org:{inside.port}/", "in a private network"),
    ):

        async def lead(asked: web.Request, to: str = location) -> web.Response:
            return web.Response(status=302, headers={"Location": to})

        outside = await serve(lead)
        asked = request(outside.url, allowed_hosts=frozenset({"cdn.example.org"}))
        with pytest.raises(SourceError, match=said):
            await client.request(asked, meter=AccessMeter())
    assert inside.asked == []


async def test_a_name_is_not_resolved_again_between_check_and_connect(
    serve: Serve, client: WebClient, names: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = await serve(answer)
    names["rebound.example.org"] = [PUBLIC, "127.0.0.1"]
    connected: list[str] = []

    async def connect(_loop: Any, _sock: socket.socket, address: tuple[str, int]) -> None:
        connected.append(address[0])
        raise ConnectionRefusedError

    monkeypatch.setattr("asyncio.selector_events.BaseSelectorEventLoop.sock_connect", connect)
    asked = request(f"http://rebound.example.org:{server.port}/")
    with pytest.raises(SourceError, match="cannot connect"):
        await client.request(asked, meter=AccessMeter())
    assert set(connected) == {PUBLIC}


async def test_one_private_address_among_public_ones_is_enough() -> None:
    class Two(AbstractResolver):
        async def resolve(self, host: str, port: int = 0, family: Any = 0) -> list[ResolveResult]:
            one = ResolveResult(hostname=host, host=PUBLIC, port=port, family=family, proto=0, flags=0)
            return [one, {**one, "host": "::ffff:10.0.0.1"}]

        async def close(self) -> None: ...

    with pytest.raises(PrivateAddressError, match=r"leads to ::ffff:10\.0\.0\.1"):
        await PublicResolver(Two()).resolve("both.example.org")


@pytest.mark.parametrize(
    "host",
    [
        "127.1",
        "0x7f.1",
        "0x7f000001",
        "2130706433",
        "0177.0.0.1",
        "[::ffff:127.0.0.1]",
        "127.0.0.1.",
        "localhost.",
    ],
)
async def test_no_spelling_of_this_machine_is_a_way_in(serve: Serve, client: WebClient, host: str) -> None:
    """Where the spec allows `localhost` alone, and the server redirects to the same machine by another name."""
    inside = await serve(answer)

    async def lead(asked: web.Request) -> web.Response:
        return web.Response(status=302, headers={"Location": f"http://{host}:{inside.port}/"})

    outside = await serve(lead)
    with pytest.raises(SourceError, match="refused a redirect to another host"):
        await client.request(
            request(outside.url, allowed_hosts=frozenset({"localhost", "example.org"})), meter=AccessMeter()
        )
    assert inside.asked == []
