"""Spark Connect: what is said where its server cannot be reached, or its calls fail. No server is needed."""

from __future__ import annotations

import socket

import pytest

from fff.errors import SparkError
from fff.spark.messages import short
from fff.spark.start import remote
from fff.spark.start.remote import reach

RPC = """<_MultiThreadedRendezvous of RPC that terminated with:
\tstatus = StatusCode.UNAVAILABLE
\tdetails = "Socket closed"
\tdebug_error_string = "UNKNOWN:Error received from peer {}"
>"""


def test_of_a_failed_call_the_details_are_told() -> None:
    assert short(RPC) == "Spark: Socket closed"


def test_a_server_that_is_not_there_is_noticed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in remote._PROXIES:
        monkeypatch.delenv(name, raising=False)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        reach(f"sc://127.0.0.1:{port}/;token=secret")
    with pytest.raises(SparkError, match=rf"can be reached at 127\.0\.0\.1:{port}: ") as told:
        reach(f"sc://127.0.0.1:{port}/;token=secret")
    assert "secret" not in told.value.render()


def test_a_url_without_a_host_is_left_to_the_client_to_refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in remote._PROXIES:
        monkeypatch.delenv(name, raising=False)
    tried: list[object] = []
    monkeypatch.setattr(socket, "create_connection", lambda *place, **_: tried.append(place))
    reach("sc:nothing")
    assert not tried
