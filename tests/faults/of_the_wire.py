"""Behaviours between the socket and the record: bytes, encodings, statuses."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable

import brotli

from fff.structs import replace
from tests.faults.behaviour import Behaviour, replied, status, with_body
from tests.faults.site import Turn
from tests.faults.wire import Reply, chunked

ALL = ("json", "csv", "ndjson")


def _framed(**changes: object) -> Callable[[Reply], Reply]:
    return lambda reply: replace(reply, **changes)  # type: ignore[arg-type]


def _cut(reply: Reply) -> Reply:
    return replace(reply, sent=reply.body[: len(reply.body) * 2 // 3], then="close")


def _in_chunks(end: bytes, then: str = "keep") -> Callable[[Reply], Reply]:
    return lambda reply: replace(
        reply,
        headers={**reply.headers, "Transfer-Encoding": "chunked"},
        sent=chunked(reply.body, end=end),
        then=then,
    )


def _short_length(reply: Reply) -> Reply:
    return replace(
        reply, headers={**reply.headers, "Content-Length": str(len(reply.body) * 2 // 3)}, then="close"
    )


def _until_close(share: float) -> Callable[[Reply], Reply]:
    def closed(reply: Reply) -> Reply:
        cut = int(len(reply.body) * share)
        if share < 1.0 and reply.body[:1] == b"{" and b"\n" in reply.body[cut - 1 : cut + 1]:
            cut += 2  # between two lines of NDJSON nobody could tell, as nobody can in CSV
        headers = {**reply.headers, "Content-Length": "", "Connection": "close"}
        return replace(reply, headers=headers, sent=reply.body[:cut], then="close")

    return closed


def _packed(encoding: str, pack: Callable[[bytes], bytes]) -> Callable[[Reply], Reply]:
    return lambda reply: replace(
        reply, headers={**reply.headers, "Content-Encoding": encoding}, body=pack(reply.body)
    )


def _damaged(body: bytes) -> bytes:
    packed = bytearray(gzip.compress(body, mtime=0))
    packed[-6] ^= 0x40
    return bytes(packed)


def _bomb(body: bytes) -> bytes:
    return gzip.compress(b'{"items": [' + b" " * (8 << 20) + b"]}", mtime=0)


def _raw_deflate(body: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(body) + packer.flush()


def _told_twice(reply: Reply) -> Reply:
    head = (
        replace(reply, headers={**reply.headers})
        .head()
        .replace(b"\r\n\r\n", b"\r\nContent-Length: 7\r\n\r\n")
    )
    return Reply(raw=head + reply.body, then="close")


WIRE = tuple(
    replace(one, group="On the wire", anywhere=one.name == "an ordinary source")
    for one in (
        Behaviour("an ordinary source", sound=True, formats=(*ALL, "xml")),
        Behaviour("the connection is reset once", reply=replied(lambda r: Reply(raw=b"", then="reset"), times=1), sound=True),
        Behaviour("the connection is reset, always", reply=replied(lambda r: Reply(raw=b"", then="reset"))),
        Behaviour("closed without an answer, always", reply=replied(lambda r: Reply(raw=b"", then="close"))),
        Behaviour("a body cut short once", reply=replied(_cut, times=1), sound=True, formats=ALL),
        Behaviour("a body cut short, always", reply=replied(_cut), formats=ALL),
        Behaviour("in chunks", reply=replied(_in_chunks(b"0\r\n\r\n")), sound=True, formats=ALL),
        Behaviour("chunks without their end", reply=replied(_in_chunks(b"", "close")), formats=ALL),
        Behaviour("a chunk of a wrong length", reply=replied(_in_chunks(b"zz\r\n", "close"))),
        Behaviour("Content-Length below the body's", reply=replied(_short_length), formats=ALL),
        Behaviour("two Content-Length", reply=replied(_told_twice)),
        Behaviour("ended by closing", reply=replied(_until_close(1.0)), sound=True, formats=ALL),
        Behaviour("ended by closing, too early", reply=replied(_until_close(0.6)), formats=ALL),
        Behaviour("stalls in the middle", reply=replied(
            lambda r: replace(r, sent=r.body[:100], then="stall")), where=lambda w: w.access != "lookup",
            because="waits in earnest: once is enough"),
        Behaviour("no HTTP", reply=replied(lambda r: Reply(raw=b"SSH-2.0-OpenSSH_9\r\n\r\n", then="close"))),
        Behaviour("gzip", reply=replied(_packed("gzip", lambda b: gzip.compress(b, mtime=0))), sound=True, formats=ALL),
        Behaviour("gzip in two members", reply=replied(_packed(
            "gzip", lambda b: gzip.compress(b[:90], mtime=0) + gzip.compress(b[90:], mtime=0))), sound=True),
        Behaviour("deflate without its header", reply=replied(_packed("deflate", _raw_deflate)), sound=True),
        Behaviour("brotli", reply=replied(_packed("br", brotli.compress)), sound=True),
        Behaviour("gzip cut short", reply=replied(_packed("gzip", lambda b: gzip.compress(b, mtime=0)[:-12])), formats=ALL),
        Behaviour("gzip with a wrong checksum", reply=replied(_packed("gzip", _damaged))),
        Behaviour("gzip that is none", reply=replied(_packed("gzip", lambda b: b))),
        Behaviour("a bomb of gzip", reply=replied(_packed("gzip", _bomb))),
        Behaviour("an encoding not asked for", reply=replied(_packed("zstd", lambda b: b))),
    )
)  # fmt: skip


def _moved(where: Callable[[Turn], str], number: int = 302) -> Callable[[Turn, Reply], Reply]:
    return lambda turn, reply: (
        Reply(status=number, headers={"Location": where(turn)})
        if turn.struck and "moved=" not in turn.asked.target
        else reply
    )


def _with_moved(turn: Turn) -> str:
    return f"{turn.asked.target}{'&' if '?' in turn.asked.target else '?'}moved=1"


STATUSES = tuple(
    replace(one, group="Statuses")
    for one in (
        Behaviour("202, with the records so far", reply=replied(_framed(status=202)), formats=ALL),
        Behaviour("202 without records", reply=replied(status(202, b'{"items": []}')), anywhere=True),
        Behaviour("206", reply=replied(_framed(status=206)), formats=ALL),
        Behaviour("204 for a page", reply=replied(status(204))),
        Behaviour("205 for a page", reply=replied(status(205))),
        Behaviour("200 without a body", reply=replied(_framed(body=b"")), formats=ALL),
        Behaviour("blanks for a body", body=with_body(lambda b: b" \n"), formats=ALL),
        Behaviour("304 unasked", reply=replied(status(304))),
        Behaviour("300", reply=replied(status(300, b'{"items": []}'))),
        Behaviour("400 for a page", reply=replied(status(400, b'{"error": "no"}'))),
        Behaviour("401 for a page", reply=replied(status(401, b'{"error": "no"}'))),
        Behaviour("404 for a page", reply=replied(status(404, b'{"error": "no"}'))),
        Behaviour("410 for a page", reply=replied(status(410))),
        Behaviour("500 once", reply=replied(status(500), times=1), sound=True),
        Behaviour("500, always", reply=replied(status(500))),
        Behaviour("503 once, with Retry-After", reply=replied(status(503, Retry_After="2"), times=1), sound=True),
        Behaviour("429 once, with Retry-After", reply=replied(status(429, Retry_After="1"), times=1), sound=True),
        Behaviour("429 once, without", reply=replied(status(429), times=1), sound=True),
        Behaviour("429, always", reply=replied(status(429, Retry_After="1"))),
        Behaviour("429 that asks for a day", reply=replied(status(429, Retry_After="86400"))),
        Behaviour("a redirect within the host", reply=_moved(_with_moved), sound=True),
        Behaviour("redirects in a circle", reply=replied(lambda r: Reply(status=302, headers={"Location": "?"}))),
        Behaviour("a redirect to another host", reply=_moved(lambda turn: "http://other.invalid/x")),
        Behaviour("a redirect from https to http", reply=_moved(
            lambda turn: f"http://faults.invalid{_with_moved(turn)}"), secure=True),
        Behaviour("a redirect to a page for people", reply=replied(
            lambda r: Reply(b"<!DOCTYPE html><h1>Sign in</h1>", headers={"Content-Type": "text/html"}))),
        Behaviour("404 behind the last page", reply=lambda turn, r: status(404)(r)
                  if turn.position >= turn.world.size and b'"items": []' in r.body else r,
                  where=lambda w: w.dialect.style in ("page", "offset"), because="links do not lead there"),
    )
)  # fmt: skip
