"""A statement's text is read once, however many stages want to know something of it."""

from __future__ import annotations

import collections
from pathlib import Path

import pytest

from fff.federation import RunOptions
from fff.sql import parameter_names, split_statements
from fff.sql.syntax import parse, statement
from tests.engine.duck import over_duck
from tests.engine.joins import lookup_only, two
from tests.engine.site import federated, rows_of
from tests.web.serving import Serve


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> collections.Counter[str]:
    """How often which text has been tokenised, and how often any has been parsed."""
    counted: collections.Counter[str] = collections.Counter()
    tokens, trees = statement._names_told, parse._parse
    monkeypatch.setattr(
        statement,
        "_names_told",
        lambda text, found: (counted.update(["tokens"]), tokens(text, found))[1],
    )
    monkeypatch.setattr(
        parse, "_parse", lambda text, found: (counted.update(["tree"]), trees(text, found))[1]
    )
    return counted


@pytest.mark.parametrize(
    ("sql", "fault"),
    [
        ("SELECT r.a FROM web.r JOIN web.s ON r.b = s.a", False),
        ("SELECT r.a AS one, count(*) FROM web.r JOIN web.s ON r.b = s.a GROUP BY r.a", False),
        ("SELECT r.a AS two FROM web.r LEFT JOIN web.s ON r.b = s.a ORDER BY 1", True),
    ],
)
async def test_a_statement_is_tokenised_and_parsed_once(
    serve: Serve, tmp_path: Path, reads: collections.Counter[str], sql: str, fault: bool
) -> None:
    site = two()
    if fault:
        site.faults["s", "3"] = 500
    async with federated(serve, site, tmp_path, lookup_only()) as (federation, _):
        over_duck(federation)
        [text] = split_statements(sql)
        assert not parameter_names(text)
        await federation.discover(text)
        prepared = federation.prepare(text)
        execution = federation.execute(prepared, RunOptions(seed=1, refresh=True, on_source_error="partial"))
        await rows_of(execution)
    assert execution.outcome.exit_code == (3 if fault else 0)
    assert reads == {"tokens": 1, "tree": 1}
