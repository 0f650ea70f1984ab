"""Bodies under caps."""

from __future__ import annotations

import gzip
import random
import zlib

import brotli
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
        "br": brotli.compress(TEXT),
    }
    for encoding, body in bodies.items():
        assert read(body, encoding, piece=piece) == TEXT, encoding


def test_a_long_body_comes_whole() -> None:
    text = bytes(i * i % 251 for i in range(1_500_000))
    assert read(gzip.compress(text, 1), "gzip", piece=65_536) == text
    text = random.Random(1).randbytes(30_000) * 50
    for piece in (1_000, 65_536, 2**24):
        assert read(brotli.compress(text, quality=1), "br", piece=piece) == text


def test_an_encoding_not_asked_for() -> None:
    with pytest.raises(BodyError, match="'zstd'"):
        read(b"x", "zstd")


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br"])
def test_damage_and_truncation(encoding: str) -> None:
    body = {"gzip": gzip.compress, "deflate": zlib.compress, "br": brotli.compress}[encoding](TEXT)
    with pytest.raises(BodyError, match="too early"):
        read(body[:-9], encoding)
    with pytest.raises(BodyError, match="damaged"):
        read(body[:20] + b"\xff" * 20 + body[40:], encoding)


def test_the_size_cap_counts_decompressed_bytes() -> None:
    assert len(read(gzip.compress(TEXT), "gzip", max_body=len(TEXT))) == len(TEXT)
    with pytest.raises(BodyError, match="larger than"):
        read(gzip.compress(TEXT), "gzip", max_body=len(TEXT) - 1)


@pytest.mark.parametrize("encoding", ["gzip", "br"])
def test_a_bomb_is_met_before_it_fills_memory(encoding: str) -> None:
    zeros = bytes(50_000_000)
    bomb = gzip.compress(zeros) if encoding == "gzip" else brotli.compress(zeros, quality=1)
    reader = BodyReader(encoding, max_body=2**28, max_ratio=200)
    with pytest.raises(BodyError, match="more than 200 times"):
        reader.feed(bomb)
    assert reader._size <= max(2**20, 200 * len(bomb)) + 2**18 + 1, "stopped within one step of the cap"
