"""Documents to import: read within limits, parsed without running anything, their format guessed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fff.errors import SpecError, UsageError
from fff.web.client import WebClient
from fff.web.types import HostPolicy
from fff_sources.authoring.sampling.address import take_apart
from fff_sources.authoring.sampling.credentials import fetched_text, proof_of
from fff_sources.document import parse_document
from fff_sources.http.response.json import MalformedJSON, decode

FORMATS = ("airbyte", "coral", "dlt", "har", "openapi", "postman", "steampipe")
KNOWN = f"known: {', '.join(FORMATS)}; say which with --from"
LARGEST = 64 * 2**20  # bytes of a document
_DEEPEST = 200  # levels of a document
_MOST_NODES = 2_000_000  # values in one


def load_text(text: str, where: str) -> dict[str, Any]:
    """A document of JSON or YAML as data. Raises UsageError where it is neither, too deep, or too large."""
    if len(text) > LARGEST:
        raise UsageError(f"{where}: larger than {LARGEST // 2**20} MiB")
    try:
        data = (
            decode(text)
            if text.lstrip("\ufeff \t\r\n").startswith("{")
            else parse_document(text, where, as_written=False).data
        )
    except (MalformedJSON, RecursionError) as error:
        raise UsageError(f"{where}: not valid JSON: {error}") from error
    except SpecError as error:
        raise UsageError(f"{where}: {error.message}") from error
    if not isinstance(data, dict):
        raise UsageError(f"{where}: not a document of a kind that can be imported", hint=KNOWN)
    _check_size(data, where)
    return data


def format_of(data: Mapping[str, Any]) -> str | None:
    """The format that a document seems to have."""
    log, info = data.get("log"), data.get("info")
    if isinstance(data.get("paths"), dict) and ("openapi" in data or "swagger" in data):
        return "openapi"
    if isinstance(log, dict) and isinstance(log.get("entries"), list):
        return "har"
    if isinstance(data.get("item"), list) and isinstance(info, dict):
        return "postman"
    for programs in ("dlt", "steampipe"):
        if isinstance(data.get(programs), list) and data[programs]:
            return programs
    if "dsl_version" in data and isinstance(data.get("tables"), list):
        return "coral"
    if data.get("type") == "DeclarativeSource" or ({"streams", "check"} <= data.keys()):
        return "airbyte"
    return None


def _check_size(data: Any, where: str) -> None:
    """Raises UsageError for a document that is deeper or larger than any honest one."""
    level, nodes = [data], 0
    for _ in range(_DEEPEST):
        below: list[Any] = []
        for one in level:
            below.extend(one.values() if isinstance(one, dict) else one if isinstance(one, list) else ())
        nodes += len(below)
        if nodes > _MOST_NODES:
            raise UsageError(f"{where}: more than {_MOST_NODES:,} values")
        if not below:
            return
        level = below
    raise UsageError(f"{where}: more than {_DEEPEST} levels deep")


def read_file(file: Path) -> str:
    """The text of a file, or of all Go files of a folder. Raises UsageError."""
    if file.is_dir():
        programs = sorted(one for one in file.glob("*.go") if not one.name.endswith("_test.go"))
        if not programs:
            raise UsageError(f"{file} is a folder without Go files", hint="--count counts what a folder has")
        return "\n".join(map(read_file, programs))
    try:
        if file.stat().st_size > LARGEST:
            raise UsageError(f"{file}: larger than {LARGEST // 2**20} MiB")
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise UsageError(f"{file} cannot be read: {reason}") from error


def is_address(where: str) -> bool:
    """Whether a document is to be fetched."""
    return where.startswith(("http://", "https://"))


async def fetched(where: str, client: WebClient, environ: Mapping[str, str]) -> tuple[str, str]:
    """The text at a URL, and the URL without its secrets. Raises SourceError."""
    proved = proof_of("import", take_apart(where), {}, environ, client.redactor)
    return await fetched_text(*proved, client, HostPolicy(max_body=LARGEST, max_attempts=2, max_wait=10))
