"""Behaviours of CSV, of NDJSON and of XML."""

from __future__ import annotations

from collections.abc import Callable

from fff.structs import replace
from tests.faults.behaviour import Behaviour, with_body

Change = Callable[[bytes], bytes]


def _lines(change: Callable[[list[bytes]], list[bytes]]) -> Change:
    return lambda body: b"".join(change(body.splitlines(keepends=True)))


def _one_cell(text: bytes) -> Change:
    """In the first row stands something else behind the first comma."""

    def changed(lines: list[bytes]) -> list[bytes]:
        return [
            lines[0],
            *(b",".join([*line.rstrip(b"\n").split(b",")[:2], text]) for line in lines[1:2]),
            *lines[2:],
        ]

    return _lines(changed)


_CSV = {"formats": ("csv",)}
_LINES = {"formats": ("ndjson",)}
_XML = {"formats": ("xml",)}


LINES = tuple(
    replace(one, group="Lines and markup")
    for one in (
        Behaviour("CSV ends inside of quotes", body=with_body(lambda b: b + b'58,g00,"name 58'), **_CSV),
        Behaviour("CSV ends inside of quotes, last column", body=with_body(lambda b: b + b'58,g00,name 58,"note'), **_CSV),
        Behaviour("a quote that nothing closes, in the middle", body=with_body(_one_cell(b'"name 2,\n')), **_CSV),
        Behaviour("a row of too few cells", body=with_body(_lines(lambda ls: [*ls[:2], b"7,g05\n", *ls[2:]])), **_CSV),
        Behaviour("a row of too many cells", body=with_body(_lines(lambda ls: [*ls[:2], b"7,g05,a,b,c\n", *ls[2:]])), **_CSV),
        Behaviour("a row of types below the header", body=with_body(_lines(lambda ls: [ls[0], b"5n,4s,12s,9s\n", *ls[1:]])), **_CSV),
        Behaviour("a row of types, declared", body=lambda turn, b: _lines(lambda ls: [ls[0], b"5n,4s,12s,9s\n", *ls[1:]])(b),
                  spec={"skip_rows": 1}, sound=True, **_CSV),
        Behaviour("the header once more amid rows", body=with_body(_lines(lambda ls: [*ls[:3], ls[0], *ls[3:]])), **_CSV),
        Behaviour("a page without a header", body=with_body(_lines(lambda ls: ls[1:])), **_CSV),
        Behaviour("columns in another order on one page", body=with_body(_lines(lambda ls: [
            b",".join(reversed(line.rstrip(b"\n").split(b","))) + b"\n" for line in ls])), sound=True, **_CSV),
        Behaviour("semicolons in place of commas", body=with_body(lambda b: b.replace(b",", b";")), **_CSV),
        Behaviour("CRLF and a blank line at the end", body=with_body(lambda b: b.replace(b"\n", b"\r\n") + b"\r\n"), sound=True, **_CSV),
        Behaviour("no newline at the end", body=with_body(lambda b: b.rstrip(b"\n")), sound=True, formats=("csv", "ndjson")),
        Behaviour("a sum below the rows", body=with_body(lambda b: b + b"Total: 10 rows\n"), **_CSV),
        Behaviour("JSON in place of CSV", body=with_body(lambda b: b'{"error": "quota"}'), **_CSV),
        Behaviour("a NUL in a cell", body=with_body(lambda b: b.replace(b"name ", b"na\0me ")),
                  judge=lambda found, world: True, **_CSV),
        Behaviour("a line cut in the middle", body=with_body(lambda b: b[:-12]), **_LINES),
        Behaviour("an error for a last line", body=with_body(lambda b: b + b'{"error": "quota"}\n'), **_LINES),
        Behaviour("a text for a last line", body=with_body(lambda b: b + b"quota exceeded\n"), **_LINES),
        Behaviour("blank lines", body=with_body(lambda b: b.replace(b"\n", b"\n\n")), sound=True, **_LINES),
        Behaviour("a list in place of lines", body=with_body(lambda b: b"[" + b.strip().replace(b"\n", b",") + b"]"), **_LINES),
        Behaviour("XML cut in the middle", body=with_body(lambda b: b[: len(b) * 2 // 3]), **_XML),
        Behaviour("XML of an error", body=with_body(lambda b: b"<error>quota</error>"), **_XML),
        Behaviour("XML of an error beside no records", body=with_body(lambda b: b"<answer><error>quota</error></answer>"), **_XML),
        Behaviour("entities that grow", body=with_body(lambda b: b'<!DOCTYPE x [<!ENTITY a "aaaa">]>' + b), **_XML),
    )
)  # fmt: skip
