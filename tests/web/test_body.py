"""Bodies under caps."""

from __future__ import annotations

import gzip
import zlib

import pytest

from fff.web.body import BodyError, BodyReader

TEXT = b'{"a": "some text that is not all the same", "n": 12345}' * 50


def read(
    body: bytes, encoding: str = "", *, piece: int = 10, max_body: int = 2**24, max_ratio: int = 200
) -> bytes:
    reader = BodyReader(encoding, max_body=max_body, max_ratio=max_ratio)
    for start in range(0, len(body), piece):
        reader.feed(body[start : start + piece])
    return reader.finish()


@pytest.mark.parametrize("piece", [1, 7, 10_000])
def test_every_encoding_asked_for_is_read(piece: int) -> None:
    raw = zlib.compressobj(wbits=-15)
    bodies = {
        "": TEXT,
        "identity": TEXT,
        "gzip": gzip.compress(TEXT),
        "GZIP": gzip.compress(TEXT[:100]) + gzip.compress(TEXT[100:]),
        "deflate": zlib.compress(TEXT),
        "Deflate": raw.compress(TEXT) + raw.flush(),
    }
    for encoding, body in bodies.items():
        assert read(body, encoding, piece=piece) == TEXT, encoding


def test_a_long_body_comes_whole() -> None:
    text = bytes(i * i % 251 for i in range(1_500_000))
    assert read(gzip.compress(text, 1), "gzip", piece=65_536) == text


def test_an_encoding_not_asked_for() -> None:
    with pytest.raises(BodyError, match="'br'"):
        read(b"x", "br")


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_damage_and_truncation(encoding: str) -> None:
    body = gzip.compress(TEXT) if encoding == "gzip" else zlib.compress(TEXT)
    with pytest.raises(BodyError, match="too early"):
        read(body[:-9], encoding)
    with pytest.raises(BodyError, match="damaged"):
        read(body[:20] + b"\xff" * 20 + body[40:], encoding)


def test_the_size_cap_counts_decompressed_bytes() -> None:
    assert len(read(gzip.compress(TEXT), "gzip", max_body=len(TEXT))) == len(TEXT)
    with pytest.raises(BodyError, match="larger than"):
        read(gzip.compress(TEXT), "gzip", max_body=len(TEXT) - 1)


def test_a_bomb_is_met_before_it_fills_memory() -> None:
    bomb = gzip.compress(bytes(50_000_000))
    reader = BodyReader("gzip", max_body=2**28, max_ratio=200)
    with pytest.raises(BodyError, match="more than 200 times"):
        reader.feed(bomb)
    assert reader._size < 200 * len(bomb) + 2**18 + 1, "stopped within one step of the cap"
