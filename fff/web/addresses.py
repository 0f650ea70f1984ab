"""Where URLs lead: their hosts, and which addresses are of private networks."""

from __future__ import annotations

import ipaddress
from functools import lru_cache
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

from fff.web.types import Request

#: How the URLs of SOCKS proxies begin.
SOCKS = ("socks5://", "socks5h://", "socks4://", "socks4a://")
#: Addresses that no name of a public host leads to, but for one that is to reach somebody else's network from inside.
_PRIVATE = [
    ipaddress.ip_network(text)
    for text in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
        *(
            "192.0.0.0/24",
            "192.168.0.0/16",
            "224.0.0.0/4",
            "240.0.0.0/4",
            "::/96",
            "::ffff:0:0:0/96",
            "64:ff9b:1::/48",
            "fc00::/7",
            "fe80::/10",
            "fec0::/10",
            "ff00::/8",
        ),
    )
]
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
#: Endings of names that are never public.
_PRIVATE_NAMES = (".localhost", ".local", ".internal", ".lan", ".home.arpa")


def is_private_address(text: str) -> bool:
    """Whether an address is of a private network, of this machine or no host's at all, however it is packed."""
    address: ipaddress.IPv4Address | ipaddress.IPv6Address = ipaddress.ip_address(text.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if inner is None and address in _NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        address = inner or address
    return any(address.version == network.version and address in network for network in _PRIVATE)


@lru_cache(maxsize=1024)
def is_private_name(host: str) -> bool:
    """Whether whoever writes a host so must know where it leads: an address, or a name without a public ending."""
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        host = host.rstrip(".").lower()
        return "." not in host or host.endswith(_PRIVATE_NAMES)
    return True


def without_user(url: str) -> str:
    """A URL that a server gave, without user name and password: it does not choose who we are. Raises ValueError."""
    parts = urlsplit(url)
    if "@" not in parts.netloc:
        return url
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def host_allowed(url: str, allowed: frozenset[str]) -> bool:
    """Whether a URL's host is among those a spec allows (as `host` or `host:port`)."""
    parts = urlsplit(url)
    return parts.hostname in allowed or parts.netloc.rpartition("@")[2] in allowed


def origin_of(url: str) -> str:
    """Scheme, host and port of a URL."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}:{parts.port or port_of(parts.scheme)}"


def port_of(scheme: str) -> int:
    """The port that a scheme means where a URL names none."""
    return 443 if scheme == "https" else 80


def full_url(req: Request) -> str:
    """The URL a request goes to, parameters and credentials included: for the wire, never for display."""
    pairs = [*req.params, *req.credentials.params.items()]
    if not pairs:
        return req.url
    parts = urlsplit(req.url)
    query = urlencode(pairs, quote_via=quote, safe="")
    return urlunsplit(parts._replace(query=f"{parts.query}&{query}" if parts.query else query))
