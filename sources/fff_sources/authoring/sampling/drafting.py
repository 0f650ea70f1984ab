"""From a sample URL to a draft: ask, guess, ask again where that tells a right guess from a wrong one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fff.errors import SourceError, UsageError
from fff.web.client import WebClient
from fff.web.types import Response
from fff_sources.authoring.draft import SpecDraft, TableDraft, identifier
from fff_sources.authoring.sampling.address import Address, source_name, take_apart
from fff_sources.authoring.sampling.credentials import proof_of
from fff_sources.authoring.sampling.form import Content, read_content
from fff_sources.authoring.sampling.keys import fill_in_keys
from fff_sources.authoring.sampling.paging import Guess, Seen, guesses, more_of, without
from fff_sources.authoring.sampling.sample import Sample
from fff_sources.authoring.sampling.shape import Shape, find_records
from fff_sources.http.response.jsonpath import parse_path
from fff_sources.http.response.jsonpath import value as value_at

_ROUND = frozenset({10, 15, 20, 25, 30, 40, 50, 100, 200, 250, 500, 1000})  # page sizes that servers choose


async def draft_from_url(
    url: str,
    client: WebClient,
    *,
    name: str | None = None,
    headers: Mapping[str, str] | None = None,
    environ: Mapping[str, str],
) -> SpecDraft:
    """A source with one table, as an answer suggests it. Sends a handful of requests.

    Args:
        url: a sample, with the parameters one would send. May name secrets as `${env:NAME}`.
        client: what to ask with; it learns the secrets, so that nothing it says shows them.
        name: of the source; guessed from the host when left out.
        headers: sent along; they may name or hold secrets.
        environ: where `${env:NAME}` is looked up.

    Raises:
        UsageError: not a URL.
        SecretError: a secret that cannot be found.
        SourceError: no answer, or one that holds no records FFF could read.
    """
    address = take_apart(url)
    source = name or source_name(address.base_url)
    address, proof = proof_of(source, address, headers or {}, environ, client.redactor)
    sample = Sample(client, address, proof, [])
    response = await sample.ask()
    _note_redirect(sample, response)
    content = read_content(response, client)
    shape = content.shape or find_records(content.value, address.collection, last_is_id=address.ends_in_id)
    draft = SpecDraft(
        source,
        address.base_url,
        client.shown(url),
        proof.auth,
        dict(proof.spec_headers),
        dict(proof.spec_params),
    )
    draft.variables = proof.variables
    table = TableDraft(identifier(address.collection, "rows").lower(), content.columns(shape), test="LIMIT 5")
    if not table.columns:
        raise SourceError(
            "the answer has no records to learn columns from",
            url=client.shown(response.url),
            hint="give a URL whose answer has some",
        )
    guess = None if shape.single else await _paginator(sample, content, shape, response)
    table.scan = _endpoint(address, content, shape, guess)
    await fill_in_keys(table, sample, content, shape)
    _note_doubts(sample, content, shape, table)
    draft.tables.append(table)
    draft.unsure += sample.unsure
    return draft


def _endpoint(address: Address, content: Content, shape: Shape, guess: Guess | None) -> dict[str, Any]:
    """The sample's request as a spec writes it, without what the paginator sends."""
    endpoint: dict[str, Any] = {"path": address.template}
    params = [pair for pair in address.params if guess is None or not guess.sends(pair[0])]
    if params:
        endpoint["params"] = address.param_templates(params)
    if content.format != "json":
        endpoint["format"] = content.format
    if content.packed is not None:
        endpoint["decode"] = content.packed
    if content.delimiter != ",":
        endpoint["delimiter"] = content.delimiter
    if content.comment is not None:
        endpoint["comment"] = content.comment
    if content.encoding is not None:
        endpoint["encoding"] = content.encoding
    if shape.selector != "$":
        endpoint["data_selector"] = shape.selector
    if guess is not None:
        endpoint["paginator"] = guess.paginator
    return endpoint


async def _paginator(sample: Sample, content: Content, shape: Shape, response: Response) -> Guess | None:
    """The first guess whose second page holds other records; else one that the URL or the answer names."""
    around = without(content.value, shape.selector)
    base = "[0]" if shape.selector == "[1]" else "$"
    last = shape.records[-1] if shape.records else None
    seen = Seen(
        dict(sample.address.params), response.headers, around, len(shape.records), shape.selector, last
    )
    doubtful: Guess | None = None
    for guess in guesses(seen, base):
        if not content.is_json and guess.paginator["type"] in ("cursor", "keyset", "json_link"):
            continue
        if guess.ends:
            if guess.sure:
                sample.unsure.append(
                    f"paginator: the sample holds everything, so {guess.paginator['type']} could not be checked"
                )
                return guess
            continue
        second = await _second(sample, content, shape, guess)
        if second is not None:
            return await _based(sample, content, shape, _reusable(guess, second))
        if guess.sure and doubtful is None:
            doubtful = guess
    if doubtful is not None:
        sample.unsure.append(
            f"paginator: {doubtful.paginator['type']} is a guess: the second page could not be had"
        )
        return doubtful
    _note_more(sample, seen, base)
    return None


async def _second(sample: Sample, content: Content, shape: Shape, guess: Guess) -> Response | None:
    """The second page, where it holds records, and others than the first."""
    try:
        response = await (
            sample.ask(url=sample.address.joined(guess.link))
            if guess.link is not None
            else sample.ask(guess.second)
        )
        records = await sample.records_of(response, content, shape)
    except (SourceError, UsageError):
        return None  # which is the answer to the question: this is not how to ask for it
    return response if records and records[0] != shape.records[0] else None


def _reusable(guess: Guess, second: Response) -> Guess:
    """Some sources send one cursor with every page and move on by themselves; the spec must say so."""
    if guess.paginator["type"] != "cursor":
        return guess
    sent = guess.second[guess.paginator["cursor_param"]]
    again = value_at(second.body, parse_path(guess.paginator["cursor_path"]))
    if str(again) != sent:
        return guess
    return Guess(guess.paginator | {"reusable": True}, guess.second, sure=guess.sure)


async def _based(sample: Sample, content: Content, shape: Shape, guess: Guess) -> Guess:
    """A page number that nobody gave: does the first page have the number 1, or 0? And an offset of 1: is it the first?"""
    if "base_offset" in guess.paginator:
        return await _offset_based(sample, content, shape, guess)
    param = guess.paginator.get("page_param")
    if param is None or guess.sure:
        return guess
    try:
        first = await sample.records_of(await sample.ask({param: "1"}), content, shape)
    except SourceError:
        return guess
    base = 1 if first[:1] == shape.records[:1] else 0
    return Guess(guess.paginator | {"base_page": base}, guess.second, sure=guess.sure)


async def _offset_based(sample: Sample, content: Content, shape: Shape, guess: Guess) -> Guess:
    """Offsets count from 0 where a record stands before the one at 1."""
    try:
        before = await sample.records_of(
            await sample.ask({guess.paginator["offset_param"]: "0"}), content, shape
        )
    except SourceError:
        return guess
    if not before or before[0] == shape.records[0]:
        return guess
    paginator = {name: value for name, value in guess.paginator.items() if name != "base_offset"}
    return Guess(paginator, guess.second, sure=guess.sure)


def _note_more(sample: Sample, seen: Seen, base: str) -> None:
    total = more_of(seen, base)
    if total is not None:
        sample.unsure.append(
            f"paginator: none found, and the answer speaks of {total:,} records and holds {seen.records}; "
            "give a URL with the parameters that turn its pages"
        )
    elif seen.records in _ROUND:
        sample.unsure.append(
            f"paginator: none found, and exactly {seen.records} records came: there may be more of them"
        )


def _note_redirect(sample: Sample, response: Response) -> None:
    if response.url.split("?")[0] != sample.address.url().split("?")[0]:
        shown = sample.client.shown(response.url.split("?")[0])
        sample.unsure.append(f"path: the server sends on to {shown}; write that one")


def _note_doubts(sample: Sample, content: Content, shape: Shape, table: TableDraft) -> None:
    if not shape.sure:
        sample.unsure.append(
            f"data_selector: {shape.selector!r} is one of several places that look like records"
        )
    if content.encoding is not None:
        sample.unsure.append(
            f"encoding: {content.encoding}, as the answer is not in UTF-8 and does not say what it is in"
        )
    if content.comment not in (None, "#"):
        sample.unsure.append(f"comment: rows that begin with {content.comment!r} are left out")
    noted = [column.name for column in table.columns if column.note]
    if noted:
        shown = ", ".join(noted[:6]) + (", …" if len(noted) > 6 else "")
        sample.unsure.append(f"columns: see the comments at {shown}")
    if content.adapter is not None:
        sample.unsure.append(
            f"this looks like {content.adapter}, which `type: {content.adapter}` reads by itself"
        )
