"""Where URLs lead: their hosts, which addresses are of private networks, and who is believed to be there."""

from __future__ import annotations

import ipaddress
import ssl
from functools import cache, lru_cache
from pathlib import Path
from types import ModuleType
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

from fff.web.types import NetworkRoute, Request

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


def turns_to_get(req: Request, status: int, path: str) -> bool:
    """Whether a redirect to a path leads to what a question has made, and not to where it is to be asked itself.

    As browsers have it, 301 and 302 would too. But then a slash that was missing, or another host, costs a search its body,
    and the list that a GET is given is taken for what was found.
    """
    elsewhere = path.rstrip("/") != urlsplit(req.url).path.rstrip("/")
    return status == 303 or (status == 302 and req.method == "POST" and elsewhere)


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


class CertificateFileError(Exception):
    """A file of certificates or of a key that cannot be used; `hint`: what to do about it."""

    def __init__(self, reason: str, hint: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.hint = hint


@cache
def _usual_trust() -> ssl.SSLContext:
    """What those have that name no certificates: the system's, which take long to read, once for all connections."""
    known = ssl.create_default_context()
    known.set_alpn_protocols(["http/1.1"])
    return known


def believe_as_usual(module: ModuleType) -> None:
    """Certificates of the system for what a module made to connect while there were none to read (`fff query` loads aiohttp so)."""
    for one in vars(module).values():
        believes = isinstance(one, ssl.SSLContext) and one.verify_mode != ssl.CERT_NONE
        if believes and not one.cert_store_stats()["x509"]:
            one.load_default_certs()


def trust_of(route: NetworkRoute) -> ssl.SSLContext:
    """What a connection over TLS is made with. Raises CertificateFileError."""
    if route.ca_bundle is None and route.certificate is None:
        return _usual_trust()
    if route.ca_bundle is not None:
        _look_at("ca_bundle", route.ca_bundle)
    try:
        known = ssl.create_default_context(cafile=route.ca_bundle)
    except OSError:
        raise CertificateFileError(
            f"there is no certificate in {route.ca_bundle}",
            "client.network.ca_bundle is a file of PEM: -----BEGIN CERTIFICATE-----",
        ) from None
    if route.certificate is not None:
        _identify(known, route.certificate, route.key)
    return known


def _identify(known: ssl.SSLContext, certificate: str, key: str | None) -> None:
    _look_at("client_certificate", certificate)
    if key is not None:
        _look_at("client_key", key)
    key_file = key or certificate
    locked = False

    def no_password() -> str:  # without this, OpenSSL asks the terminal for one, and everything waits
        nonlocal locked
        locked = True
        return ""

    try:
        known.load_cert_chain(certificate, key, no_password)
    except OSError as error:
        if locked:
            reason = f"the key in {key_file} is locked with a password"
            hint = f"openssl pkey -in {key_file} -out open.key writes one without; name it as client.network.client_key, and keep it from others"
        elif getattr(error, "reason", None) == "KEY_VALUES_MISMATCH":
            reason = f"the key in {key_file} is not that of the certificate in {Path(certificate).name}"
            hint = "client.network: client_key belongs to the first certificate of client_certificate"
        elif "-----BEGIN CERTIFICATE-----" not in _text(certificate):
            reason = f"there is no certificate in {certificate}"
            hint = "client.network.client_certificate is a file of PEM: -----BEGIN CERTIFICATE-----"
        elif "PRIVATE KEY-----" not in _text(key_file):
            reason = f"there is no private key in {key_file}"
            hint = "client.network.client_key is a file of PEM: -----BEGIN PRIVATE KEY-----"
        else:
            reason = f"{certificate} and {key_file} are no certificate and its key: {error}"
            hint = "client.network: client_certificate and client_key are files of PEM"
        raise CertificateFileError(reason, hint) from None


def _look_at(name: str, path: str) -> None:
    """Raises CertificateFileError for a file that cannot be read."""
    try:
        with Path(path).open("rb"):
            return
    except OSError as error:
        raise CertificateFileError(
            f"{name} cannot be read: {path}: {error.strerror}",
            f"client.network.{name} is the path of a file, from the folder of the spec on",
        ) from None


def _text(path: str) -> str:
    return Path(path).read_text("latin-1")
