"""Whether a Spark Connect server can be reached."""

from __future__ import annotations

import os
import socket
from urllib.parse import urlsplit

from fff.errors import SparkError

#: Where a Spark Connect server listens unless told otherwise.
_REMOTE_PORT = 15002
#: How long to try to reach one, in seconds.
_REACH_S = 10.0
_PROXIES = ("grpc_proxy", "https_proxy", "http_proxy")


def reach(url: str) -> None:
    """Find out at once whether a server listens there. Raises SparkError."""
    place = urlsplit(url)
    if not place.hostname or any(name in os.environ for name in _PROXIES):
        return  # the client judges the URL, and a proxy knows the way
    try:
        port = place.port or _REMOTE_PORT
        socket.create_connection((place.hostname, port), timeout=_REACH_S).close()
    except (OSError, ValueError) as error:
        raise SparkError(
            f"no Spark Connect server can be reached at {place.netloc.rpartition('@')[2]}: {error}",
            hint="start one with start-connect-server.sh of Spark; it listens on port 15002 unless told otherwise",
        ) from error
