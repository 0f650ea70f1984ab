"""`fff source init` and `fff source schema`: a spec drafted from a URL or an OpenAPI document, and the schema for editors."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from fff.errors import FFFError, SourceError, UsageError
from fff.web.client import WebClient
from fff_cli.output.formats import emit
from fff_cli.run.progress import say, say_words
from fff_sources.authoring.draft import SpecDraft, is_source_name
from fff_sources.authoring.sampling.drafting import draft_from_url
from fff_sources.authoring.spec_schema import spec_schema
from fff_sources.authoring.yamltext import yaml_text
from fff_sources.document import parse_document


class _NotAsked(FFFError):  # noqa: N818 - reads as what happened
    """A URL that nothing came from, while there is no spec to correct."""

    exit_code = SourceError.exit_code


@contextlib.contextmanager
def before_a_spec(refused: str) -> Iterator[None]:
    """Have an error advise of the URL, not of a spec; `refused`: what to do where somebody has to log in."""
    try:
        yield
    except SourceError as error:
        text = error.render()
        for of_a_spec, advice in (
            ("check client.auth of the source, and the secret it names", refused),
            ("check path and params of the endpoint in the source's spec", "check the URL"),
            ("check the network and the source's base_url", "check the URL and the network"),
        ):
            text = text.replace(of_a_spec, advice)
        raise _NotAsked(text) from error


def init_source(
    url: str | None, openapi: str | None, name: str | None, headers: Sequence[str], file: Path | None
) -> int:
    """Draft a spec and write it to standard output or a file that is not there yet; tell what was doubtful."""
    if file is not None and file.exists():
        raise UsageError(f"{file} exists already", hint="name another file with -O, or remove that one")
    if file is not None and not file.resolve().parent.is_dir():
        raise UsageError(f"cannot write {str(file)!r}: there is no such folder", hint="make the folder first")
    if name is not None and not is_source_name(name):
        raise UsageError(f"{name!r} cannot name a source: letters, digits and _, no digit in front")
    with before_a_spec("send what it asks for, as in -H 'Authorization: Bearer ${env:TOKEN}'"):
        draft = asyncio.run(_draft(url, openapi, name, _headers(headers)))
    text = yaml_text(draft)
    parse_document(text, "the draft")
    if file is None:
        emit(text)
    else:
        try:
            file.write_text(text, encoding="utf-8")
        except OSError as error:
            emit(text)  # asking again would be the dearer way
            raise UsageError(
                f"cannot write {str(file)!r}: {error.strerror}", hint="name another file with -O"
            ) from error
    for line in draft.unsure:
        say_words(f"unsure: {line}")
    for variable in dict.fromkeys(draft.variables):
        if not os.environ.get(variable):
            say(f"secret: export {variable}=…")
    if file is not None:
        say(f"wrote {file}; next: fff source lint {file} && fff source test {file}")
    return 0


async def _draft(
    url: str | None, openapi: str | None, name: str | None, headers: dict[str, str]
) -> SpecDraft:
    client = WebClient()
    try:
        if openapi is not None:
            from fff_sources.authoring.openapi.document import draft_from_openapi  # noqa: PLC0415

            return await draft_from_openapi(
                openapi, client, url=url, name=name, headers=headers, environ=os.environ
            )
        if url is None:
            raise UsageError(
                "nothing to draft a spec from", hint="fff source init URL, or --openapi FILE_OR_URL"
            )
        return await draft_from_url(url, client, name=name, headers=headers, environ=os.environ)
    finally:
        await client.close()


def _headers(written: Sequence[str]) -> dict[str, str]:
    headers = {}
    for text in written:
        name, colon, value = text.partition(":")
        if not colon or not name.strip():
            raise UsageError("a header is written 'Name: value'")
        headers[name.strip()] = value.strip()
    return headers


def print_schema() -> int:
    """Print the JSON Schema of spec files."""
    emit(json.dumps(spec_schema(), indent=1) + "\n")
    return 0
