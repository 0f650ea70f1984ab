"""The one place where commands meet sources and engine; imported late, since it brings all of both."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path

from fff import opening
from fff.budget import Budget
from fff.catalog import Catalog
from fff.errors import QueryError, Span, UsageError
from fff.federation import Federation, Prepared
from fff.sql import parameter_names, statement_spans, unused_parameter
from fff.sql.analysis.priorities import nowhere
from fff.web.client import WebClient
from fff_cli.options.texts import TextOfFile
from fff_cli.run.loading import loaded
from fff_cli.run.no_pandas import spare_pandas
from fff_sources.load import load_catalog

spare_pandas()


open_federation = partial(opening.open_federation, load=load_catalog)


@asynccontextmanager
async def open_catalog(sources: Sequence[Path]) -> AsyncIterator[Catalog]:
    """The catalog alone, for listing it."""
    async with open_federation(sources, cache=False) as federation:
        yield federation.catalog


async def read_anew(
    federation: Federation, sources: Sequence[Path], more: Sequence[Path], environ: Mapping[str, str]
) -> None:
    """Read specs in place of those that a federation has.

    Raises SpecError, UsageError; all is as it was then.
    """

    def load(client: WebClient) -> Catalog:
        catalog = load_catalog(sources, environ=environ, cwd=Path.cwd(), client=client)
        for path in more:
            known = {adapter.name for adapter in catalog.adapters}
            adapters = load_catalog([path], environ=environ, cwd=Path.cwd(), client=client).adapters
            if all(adapter.name in known for adapter in adapters):
                raise UsageError(
                    f"{str(path)!r} adds nothing: there are sources of its names", hint="\\l lists them"
                )
            for adapter in adapters:
                catalog.add(adapter)
        return catalog

    await federation.read_anew(load)


async def discover_all(federation: Federation, texts: Sequence[str], budget: Budget | None = None) -> None:
    """Learn the columns that the statements need and no spec declares; `budget` pays.

    Raises QueryError, SourceError.
    """
    for text, span in _statements(texts):
        with _told_where(text, span):
            await federation.discover(text[span.start : span.end], budget)


async def look_into_files(federation: Federation, texts: Sequence[str]) -> None:
    """Learn the columns of the files of this machine that the statements name; sends nothing.

    Raises QueryError, SourceError.
    """
    for text, span in _statements(texts):
        with _told_where(text, span):
            await federation.look_into_files(text[span.start : span.end])


def prepare_all(
    federation: Federation, texts: Sequence[str], params: Mapping[str, object], prioritize: Sequence[str] = ()
) -> list[Prepared]:
    """Every statement, checked before any runs; each gets the parameters it names.

    `prioritize`: conditions of which each is about some statement. Raises QueryError, UsageError.
    """
    prepared: list[Prepared] = []
    places = _statements(texts)
    if not places:
        raise UsageError("there is no SQL in what was given", hint="fff query 'SELECT …'")
    known = [frozenset(params)]  # of one statement, which says itself what it does not name
    if len(places) > 1:
        known = []
        for text, span in places:
            with _told_where(text, span):
                known.append(parameter_names(text[span.start : span.end]))
        unused = [name for name in params if not any(name in names for names in known)]
        if unused:
            raise unused_parameter(unused[0], frozenset().union(*known))
    for (text, span), names in zip(places, known, strict=True):
        own = {name: value for name, value in params.items() if name in names}
        with _told_where(text, span):
            prepared.append(federation.prepare(text[span.start : span.end], own, prioritize))
    loaded()  # all but what reads answers
    return _in_turn(prepared, prioritize)


def _statements(texts: Sequence[str]) -> list[tuple[str, Span]]:
    """The statements of some texts: which text each is in, and where. Raises QueryError."""
    return [(text, span) for text in texts for span in statement_spans(text)]


@contextmanager
def _told_where(text: str, span: Span) -> Iterator[None]:
    """Have what is wrong with a statement be told by its place in the whole text, and by its file, where there are several."""
    try:
        yield
    except QueryError as error:
        error.place_in(text, span)
        if isinstance(text, TextOfFile):
            error.message = f"{text.file}: {error.message}"
        raise


def _in_turn(prepared: list[Prepared], prioritize: Sequence[str]) -> list[Prepared]:
    """The same. Raises QueryError where a condition says of none of them what to see first."""
    for text in prioritize:
        known = [one.has_columns_of(text) for one in prepared]  # of all, each of which has to take it
        if not any(known):
            raise nowhere(text)
    return prepared
