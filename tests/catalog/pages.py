"""What can be said of the bundled sources without anybody writing it: pages, their index, the index of tables.

The head of a spec (its first comment) says what the documentation says: `Documentation`, `Key`, `Limits`, `Terms`,
`Checked` (when, and on what that rests) and `Note` as often as there is something worth knowing. Pages are made of the
sources that have answers of their own here and a date; the others are written by hand. The example of a page is the last
test of the spec, or, where that asks one source alone, the sample that joins it with another.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from fff.web.client import WebClient
from fff_sources.document import read_document
from fff_sources.load import BUNDLED, INDEX, load_catalog
from tests.catalog.stand_in import ANSWERS

PROJECT = Path(__file__).parents[2]
PAGES = PROJECT / "docs" / "catalog"
SAMPLES = sorted((PROJECT / "sample_queries" / "web").glob("*.sql"))
_FRESH = {
    60: "live; the feeds are made anew every minute",
    300: "changes at any moment; the same question should not be asked again within a minute",
    600: "appears throughout the day",
    3600: "forecasts come by the hour; edits are many, each concerns little",
    7200: "changes are to be asked for every two hours",
    21600: "once a day, or a night",
    86400: "metadata and samples: daily at most",
    604800: "a few times a year",
}


@cache
def heads(source: str) -> dict[str, list[str]]:
    """What the head of a spec says, by the word before the colon."""
    head = (BUNDLED / f"{source}.yaml").read_text(encoding="utf-8").split("version:")[0]
    lines = [line.removeprefix("#").strip() for line in head.splitlines()]
    found: dict[str, list[str]] = {"": [lines[0]]}
    for line in lines[1:]:
        for part in re.split(r" (?=Limits: |Terms: )", line):
            word, _, text = part.partition(": ")
            found.setdefault(word, []).append(text)
    return found


@cache
def declared(source: str) -> dict[str, Any]:
    """The source as its spec has it."""
    data: dict[str, Any] = read_document(BUNDLED / f"{source}.yaml").data["sources"][source]
    return data


def page(source: str) -> str:
    """The page of a source."""
    head, data = heads(source), declared(source)
    facts = [
        ("Documentation", ", ".join(f"<{url}>" for url in re.findall(r"https://\S+[^\s,.]", head["Documentation"][0]))),
        *((word, head[word][0].rstrip(".")) for word in ("Key", "Limits", "Terms", "Checked")),
        ("Asked by FFF", _rate(data["client"]["rate_limit"])),
    ]  # fmt: skip
    tables = [
        f"| `{source}.{name}` | {part['description']} | {_ways(part)} |"
        for name, part in data["tables"].items()
    ]
    notes = ["## Worth knowing", "", *(f"- {note}" for note in head["Note"]), ""] if "Note" in head else []
    return "\n".join(
        [
            f"# {head[''][0].partition(':')[0]}", "", f"{data['description']}.", "",
            "| | |", "| --- | --- |", *(f"| {word} | {text} |" for word, text in facts), "",
            "## Tables", "", "| table | what it holds | ways to its rows |", "| --- | --- | --- |", *tables, "",
            f"`fff source show {source}.{next(iter(data['tables']))}` prints the columns.", "", *notes,
            "## An example", "", *_example(source, data["tests"][-1].strip()),
        ]
    )  # fmt: skip


def _example(source: str, last: str) -> list[str]:
    """A join of the source with another: its last test, else a sample."""
    joined = {file.stem for file in BUNDLED.glob("*.yaml")} & set(re.findall(r"\b([a-z]\w*)\.\w", last))
    for sample in SAMPLES if joined == {source} else ():
        sql = sample.read_text(encoding="utf-8").strip()
        if f"{source}." in sql:
            return ["```sql", sql, "```", "", f"(`{sample.relative_to(PROJECT)}`)", ""]
    return ["```sql", last, "```", ""]


def _rate(limit: dict[str, Any]) -> str:
    parts = [f"at most {limit['max_concurrency']} requests at once"]
    windows = [limit] if "limit" in limit else []
    windows += limit.get("windows", [])
    parts += [f"{window['limit']:,} in {window['per']:,} s" for window in windows]
    if "fill_rate" in limit:
        parts.append(f"{limit['fill_rate']} a second after {limit.get('bucket_size', 1)}")
    return ", ".join(parts)


def _ways(table: dict[str, Any]) -> str:
    required = [key["name"] for key in table.get("key_columns", []) if key.get("require") == "required"]
    ways = ["scan"] if "scan" in table and not required else []
    if "scan" in table and required:
        ways.append("by " + " and ".join(f"`{name}`" for name in required))
    for lookup in table.get("lookups", []):
        way = "by " + " and ".join(f"`{name}`" for name in lookup["keys"])
        batch = lookup.get("batch", {}).get("size")
        ways.append(way + (f", {batch} a request" if batch else ""))
    return "; or ".join(ways)


def index(text: str) -> str:
    """The page of all sources with its number, its table and its times as the specs have them."""
    names = sorted(file.stem for file in BUNDLED.glob("*.yaml"))
    text = re.sub(r"^\d+ public APIs", f"{len(names)} public APIs", text, flags=re.MULTILINE)
    rows = [_row(name) for name in names]
    text = re.sub(r"(?<=\n)(\| \[\w+\]\(\w+\.md\) .*\n)+", lambda _: "\n".join(rows) + "\n", text)
    times: dict[int, list[str]] = {}
    for name in names:
        times.setdefault(declared(name)["client"]["cache"]["ttl"], []).append(name)
    fresh = [f"| {ttl} | {', '.join(times[ttl])} | {_FRESH[ttl]} |" for ttl in sorted(times)]
    return re.sub(r"(?<=\n)(\| \d+ \| .*\n)+", lambda _: "\n".join(fresh) + "\n", text)


def secrets(source: str) -> dict[str, bool]:
    """The variables a source reads, and whether it cannot do without."""
    text = (BUNDLED / f"{source}.yaml").read_text(encoding="utf-8")
    found = re.findall(r"\$\{env:(\w+)(\??)\}", text)
    return {name: any(not optional for one, optional in found if one == name) for name, _ in found}


def _row(name: str) -> str:
    data = declared(name)
    tables = ", ".join(f"`{table}`" for table in data["tables"])
    said = ", ".join(f"`{one}`{' (needed)' * needed}" for one, needed in secrets(name).items())
    return f"| [{name}]({name}.md) | {data['description']} | {tables} | {said} |"


def tables() -> str:
    """Each source and the names of its tables, a line each."""
    catalog = load_catalog([], environ={}, cwd=BUNDLED, client=WebClient())
    found: dict[str, list[str]] = {}
    for table in catalog.tables():
        found.setdefault(table.source, []).append(table.name.lower())
    return "".join(f"{source} {' '.join(names)}\n" for source, names in found.items())


def made() -> dict[Path, str]:
    """Every file that is made here, and what is to be in it."""
    readme, front = PAGES / "README.md", PAGES.parents[1] / "README.md"
    # Pages of sources that are older than this were written by hand, and their specs say no date.
    dated = [file.stem for file in sorted(ANSWERS.glob("*.yaml")) if "Checked" in heads(file.stem)]
    pages = {PAGES / f"{source}.md": page(source) for source in dated}
    number = f"{len(list(BUNDLED.glob('*.yaml')))} public APIs"
    told = re.sub(r"^\d+ public APIs", number, front.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {INDEX: tables(), front: told, readme: index(readme.read_text(encoding="utf-8")), **pages}
