"""SQL that calls functions of Python: how often they are called, what NULLs and failures do, what comes out."""

from __future__ import annotations

import asyncio
import collections
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import fff
from fff.api import Connection
from fff.errors import QueryError, SourceError, UsageError
from tests.engine.site import Site, access
from tests.functions.papers import PAPERS, TYPES, VENUES, Calls, is_even, rows


@pytest.fixture
def spec(publish: Callable[..., Path]) -> Path:
    site = Site({"papers": (tuple(TYPES), list(PAPERS)), "venues": (("venue", "grade"), list(VENUES))})
    return publish(
        site,
        {
            "papers": access("papers", TYPES),
            "venues": access("venues", {"venue": "string", "grade": "string"}, lookups=["venue"]),
        },
    )


@pytest.fixture
def federation(spec: Path) -> Iterator[Connection]:
    with fff.connect(spec, seed=3, cache=False) as connection:
        yield connection


def register(federation: Connection, run: Callable[..., Any] = is_even, **options: Any) -> Calls:
    calls = Calls(run)
    declared = {"arguments": {"abstract": "string"}, "returns": "boolean"} | options
    federation.register(declared.pop("name", "relevant"), calls, **declared)
    return calls


def expected(test: Callable[..., bool]) -> list[tuple[Any, ...]]:
    found = [(row[0],) for row in PAPERS if test(*row)]
    return sorted(found, key=lambda row: str(row[0]))


class TestWhere:
    def test_called_once_for_each_argument_of_the_rows_that_survive(self, federation: Connection) -> None:
        calls = register(federation)
        found = rows(federation, "SELECT id FROM papers WHERE Relevant(abstract) AND year > 2013")
        assert found == expected(lambda _i, _t, a, y, _v: a is not None and is_even(a) and y > 2013)
        wanted = {(a,) for _, _, a, y, _ in PAPERS if y > 2013 and a is not None}
        assert calls.counts == dict.fromkeys(wanted, 1)

    def test_the_report_has_it_as_a_lookup(self, federation: Connection) -> None:
        register(federation)
        report = federation.sql("SELECT id FROM papers WHERE relevant(abstract)").report
        [one] = [one for one in report["access"] if one["table"] == "relevant"]
        assert (one["source"], one["kind"], one["keys"]) == ("python", "lookup", ["abstract"])
        assert (one["requests"], one["distinct_keys"], one["failed"], one["complete"]) == (10, 10, 0, True)
        assert report["sql"] == "SELECT id FROM papers WHERE relevant(abstract)"

    @pytest.mark.parametrize(
        ("condition", "test"),
        [
            ("NOT relevant(abstract)", lambda a: a is not None and not is_even(a)),
            ("relevant(abstract) IS NOT NULL", lambda a: a is not None),
            ("relevant(abstract) = FALSE", lambda a: a is not None and not is_even(a)),
            ("relevant(abstract) IN (TRUE, FALSE)", lambda a: a is not None),
            ("relevant(abstract) AND relevant( abstract )", lambda a: a is not None and is_even(a)),
            ("(relevant(abstract) OR relevant(abstract) IS NOT NULL)", lambda a: a is not None),
        ],
    )
    def test_conditions_that_no_null_passes_need_no_spark(
        self, federation: Connection, condition: str, test: Callable[[Any], bool]
    ) -> None:
        calls = register(federation)
        result = federation.sql(f"SELECT id FROM papers WHERE {condition}")
        assert sorted(result.to_arrow().column(0).to_pylist()) == [p[0] for p in PAPERS if test(p[2])]
        assert not result.report["spark"]["used"]
        assert set(calls.counts.values()) == {1}

    def test_in_a_join_of_several_tables(self, federation: Connection) -> None:
        calls = register(federation)
        found = rows(
            federation,
            "SELECT p.id, v.grade FROM papers p JOIN venues v ON p.venue = v.venue AND relevant(p.abstract) "
            "WHERE v.grade > 'A'",
        )
        grades = collections.defaultdict(list)
        for venue, grade in VENUES:
            grades[venue].append(grade)
        wanted = [
            (i, grade)
            for i, _, a, _, v in PAPERS
            if a is not None and is_even(a)
            for grade in grades[v]
            if grade > "A"
        ]
        assert sorted(found) == sorted(wanted)
        assert max(calls.counts.values()) == 1

    def test_a_star_shows_no_column_of_a_function(self, federation: Connection) -> None:
        register(federation)
        result = federation.sql("SELECT * FROM papers WHERE relevant(abstract)").to_arrow()
        assert sorted(result.column_names) == sorted(TYPES)

    def test_calls_of_calls(self, federation: Connection) -> None:
        number = register(federation, lambda a: int(a[1:]), name="number", returns="int")
        small = register(federation, lambda n: n < 3, name="small", arguments={"n": "int"})
        assert rows(federation, "SELECT id FROM papers WHERE small(number(abstract))") == expected(
            lambda _i, _t, a, _y, _v: a is not None and int(a[1:]) < 3
        )
        assert (len(number.seen), len(small.seen)) == (10, 10)

    def test_constants_and_parameters(self, federation: Connection) -> None:
        calls = register(
            federation, lambda a, t: t in a, name="has", arguments={"abstract": "string", "topic": "string"}
        )
        sql = "SELECT id FROM papers WHERE has(abstract, :topic) AND has('a1 a2', 'a2')"
        assert rows(federation, sql, params={"topic": "a7"}) == expected(lambda _i, _t, a, _y, _v: a == "a7")
        assert calls.counts[("a1 a2", "a2")] == 1
        assert rows(federation, "SELECT id FROM papers WHERE has(abstract, NULL)") == []
        assert len(calls.seen) == 11

    def test_limit_stops_calling(self, federation: Connection) -> None:
        calls = register(federation, max_concurrency=1)
        assert len(rows(federation, "SELECT id FROM papers WHERE relevant(abstract) LIMIT 1")) == 1
        assert len(calls.seen) < 10


class TestFailures:
    def test_a_failure_stops_the_run_with_the_reason(self, federation: Connection) -> None:
        def run(abstract: str) -> bool:
            if abstract == "a3":
                raise ValueError("no\nidea")
            return True

        calls = register(federation, run, retries=1)
        with pytest.raises(SourceError, match=r"python\.relevant: ValueError: no idea after 2 attempts"):
            federation.sql("SELECT id FROM papers WHERE relevant(abstract)")
        assert calls.counts[("a3",)] == 2

    def test_or_leaves_the_key_missing(self, federation: Connection) -> None:
        def run(abstract: str) -> bool:
            if abstract == "a3":
                raise ValueError("no idea")
            return True

        register(federation, run)
        result = federation.sql("SELECT id FROM papers WHERE relevant(abstract)", on_source_error="partial")
        assert not result.complete
        assert sorted(result.to_arrow().column(0).to_pylist()) == [
            p[0] for p in PAPERS if p[2] not in (None, "a3")
        ]
        [missing] = result.missing
        assert (missing.table, missing.predicate) == ("python.relevant", "abstract = 'a3'")
        assert missing.reason == "ValueError: no idea"

    def test_a_call_that_succeeds_at_last_is_a_value(self, federation: Connection) -> None:
        seen: collections.Counter[str] = collections.Counter()

        def run(abstract: str) -> bool:
            seen[abstract] += 1
            if seen[abstract] == 1 and abstract == "a4":
                raise OSError("later")
            return True

        register(federation, run, retries=2)
        result = federation.sql("SELECT id FROM papers WHERE relevant(abstract)")
        [one] = [one for one in result.report["access"] if one["table"] == "relevant"]
        assert (result.complete, one["retries"], one["requests"], one["failed"]) == (True, 1, 11, 0)

    @pytest.mark.parametrize("threaded", [True, False])
    def test_a_call_that_takes_too_long(self, federation: Connection, *, threaded: bool) -> None:
        over = threading.Event()

        async def waits(abstract: str) -> bool:
            if abstract == "a5":
                await asyncio.Event().wait()
            return True

        def blocks(abstract: str) -> bool:
            return abstract != "a5" or over.wait(30)

        for timeout in (0.05, 0.5, 5.0):  # on a busy machine the other calls take a while too
            federation.register(
                "slow",
                blocks if threaded else waits,
                arguments={"x": "string"},
                returns="boolean",
                timeout=timeout,
            )
            result = federation.sql("SELECT id FROM papers WHERE slow(abstract)", on_source_error="partial")
            if len(result.missing) == 1:
                break
        over.set()
        assert [one.reason for one in result.missing] == [f"no value within {timeout} s"]

    @pytest.mark.parametrize(
        ("value", "reason"),
        [("yes", "gave 'yes', which is not of type int"), (2.5, "gave 2.5, which is not of type int")],
    )
    def test_a_value_of_another_type(self, federation: Connection, value: object, reason: str) -> None:
        calls = register(federation, lambda _: value, retries=3, returns="int")
        result = federation.sql(
            "SELECT id FROM papers WHERE relevant(abstract) > 0 AND id = 1", on_source_error="partial"
        )
        assert [one.reason for one in result.missing] == [reason]
        assert len(calls.seen) == 1, "another call would give the same"

    @pytest.mark.parametrize("threaded", [True, False])
    @pytest.mark.parametrize(
        "error",
        [asyncio.CancelledError(), GeneratorExit(), SystemExit(1), KeyboardInterrupt(), StopIteration()],
    )
    def test_whatever_a_function_raises_is_the_reason_why_a_value_is_missing(
        self, federation: Connection, error: BaseException, *, threaded: bool
    ) -> None:
        def plain(abstract: str) -> bool:
            if abstract == "a3":
                raise error
            return True

        async def coroutine(abstract: str) -> bool:
            return plain(abstract)

        federation.register(
            "raises", plain if threaded else coroutine, arguments={"x": "string"}, returns="boolean"
        )
        sql = "SELECT id FROM papers WHERE raises(abstract)"
        for _ in range(2):  # the connection is as it was
            result = federation.sql(sql, on_source_error="partial")
            [missing] = result.missing
            assert missing.predicate == "x = 'a3'"
            assert type(error).__name__ in missing.reason

    @pytest.mark.parametrize("threaded", [True, False])
    def test_a_batch_that_raises_half_way_is_a_failure(
        self, federation: Connection, *, threaded: bool
    ) -> None:
        places: list[str] = []

        def some(abstracts: Sequence[str]) -> Iterator[bool]:
            for at, _ in enumerate(abstracts):
                places.append(threading.current_thread().name)
                if at == 3:
                    raise ValueError("no idea")
                yield True

        async def coroutine(abstracts: Sequence[str]) -> Iterator[bool]:
            return some(abstracts)

        federation.register(
            "halfway",
            some if threaded else coroutine,
            arguments={"x": "string"},
            returns="boolean",
            batch_size=50,
        )
        with pytest.raises(SourceError, match=r"python\.halfway: ValueError: no idea"):
            federation.sql("SELECT id FROM papers WHERE halfway(abstract)")
        assert set(places) == {"fff-call" if threaded else "fff-loop"}

    def test_a_function_cannot_wait_for_the_connection_that_runs_it(self, federation: Connection) -> None:
        async def nested(abstract: str) -> bool:
            return bool(federation.sql("SELECT 1").rows())

        federation.register("nested", nested, arguments={"x": "string"}, returns="boolean")
        with pytest.raises(SourceError, match="cannot wait for that connection"):
            federation.sql("SELECT id FROM papers WHERE nested(abstract)")

    def test_the_budget_counts_calls(self, federation: Connection) -> None:
        calls = register(federation)
        result = federation.sql(
            "SELECT id FROM papers WHERE relevant(abstract)", max_requests=9, on_source_error="partial"
        )
        assert not result.complete
        assert sum(one["requests"] for one in result.report["access"]) == 9
        assert 0 < len(calls.seen) < 9


class TestCalling:
    def test_plain_functions_run_in_threads_and_never_more_than_allowed(self, federation: Connection) -> None:
        running, most, lock = 0, 0, threading.Lock()
        both = threading.Barrier(2, timeout=10)
        names = set()

        def run(abstract: str) -> bool:
            nonlocal running, most
            with lock:
                running += 1
                most = max(most, running)
                names.add(threading.current_thread().name)
            both.wait()  # nobody goes on alone
            with lock:
                running -= 1
            return is_even(abstract)

        federation.register("relevant", run, arguments={"a": "string"}, returns="boolean", max_concurrency=2)
        assert len(rows(federation, "SELECT id FROM papers WHERE relevant(abstract)")) == sum(
            p[2] is not None and is_even(p[2]) for p in PAPERS
        )
        assert (most, names) == (2, {"fff-call"})

    def test_batches_take_lists(self, federation: Connection) -> None:
        def run(abstracts: Sequence[str], years: Sequence[int]) -> list[bool]:
            assert len(abstracts) == len(years) <= 4
            return [is_even(a) and y > 2013 for a, y in zip(abstracts, years, strict=True)]

        calls = register(federation, run, arguments={"a": "string", "y": "int"}, batch_size=4)
        found = rows(federation, "SELECT id FROM papers WHERE relevant(abstract, year)")
        assert found == expected(lambda _i, _t, a, y, _v: a is not None and is_even(a) and y > 2013)
        pairs = [pair for a, y in calls.seen for pair in zip(a, y, strict=True)]
        assert len(pairs) == len(set(pairs)) == len({(p[2], p[3]) for p in PAPERS if p[2] is not None})
        assert len(calls.seen) < len(pairs)

    def test_a_batch_must_have_a_value_for_each(self, federation: Connection) -> None:
        register(federation, lambda abstracts: [True] * (len(abstracts) - 1), batch_size=50)
        with pytest.raises(SourceError, match=r"gave \d+ values for \d+ calls"):
            federation.sql("SELECT id FROM papers WHERE relevant(abstract)")

    @pytest.mark.parametrize("values", [set, dict.fromkeys, ",".join], ids=["set", "dict", "text"])
    def test_a_batch_must_tell_which_value_is_whose(
        self, federation: Connection, values: Callable[..., Any]
    ) -> None:
        register(federation, values, returns="string", batch_size=50)
        with pytest.raises(SourceError, match=r"gave (set|dict|str), not a list of values"):
            federation.sql("SELECT relevant(abstract) AS it FROM papers")

    @pytest.mark.parametrize(
        "values", [tuple, iter, np.array, pa.array], ids=["tuple", "iterator", "numpy", "arrow"]
    )
    def test_a_batch_may_be_anything_that_has_an_order(
        self, federation: Connection, values: Callable[..., Any]
    ) -> None:
        register(federation, values, returns="string", batch_size=50)
        found = rows(federation, "SELECT abstract, relevant(abstract) AS it FROM papers")
        assert all(abstract == it for abstract, it in found)

    def test_another_function_of_the_name_takes_its_place(self, spec: Path) -> None:
        with fff.connect(spec, keep=True, cache=False) as federation:
            sql = "SELECT id FROM papers WHERE relevant(abstract)"
            first = register(federation, lambda _: True)
            assert len(rows(federation, sql)) == 30
            assert len(rows(federation, sql)) == 30
            assert len(first.seen) == 10, "a session asks once"
            register(federation, lambda _: False)
            assert rows(federation, sql) == []


class TestRefused:
    @pytest.mark.parametrize("name", ["lower", "COUNT", "select", "if", "is even", "1st", ""])
    def test_names_that_sql_has(self, federation: Connection, name: str) -> None:
        with pytest.raises(UsageError, match="a function cannot be called"):
            register(federation, name=name)

    @pytest.mark.parametrize(
        "options",
        [
            {"arguments": {}},
            {"arguments": {"a": "text"}},
            {"arguments": {"a": "array<int>"}},
            {"arguments": {"a": "int", "A": "int"}},
            {"returns": "bool"},
            {"batch_size": 0},
            {"max_concurrency": True},
            {"timeout": 0},
            {"retries": -1},
        ],
    )
    def test_options(self, federation: Connection, options: dict[str, Any]) -> None:
        with pytest.raises(UsageError):
            register(federation, **options)

    @pytest.mark.parametrize(
        ("sql", "place", "message"),
        [
            ("SELECT id FROM papers WHERE relevant()", "relevant()", "takes 1 argument, not 0"),
            (
                "SELECT relevant(abstract, id) FROM papers",
                "relevant(abstract, id)",
                "takes 1 argument, not 2",
            ),
            (
                "SELECT relevant(id) FROM papers",
                "id",
                "argument abstract of python.relevant is of type string",
            ),
            ("SELECT id FROM papers WHERE relevant(3)", "3", "not a constant of type integer"),
            ("SELECT relevant(max(abstract)) FROM papers", "max(abstract)", "is an aggregate"),
            ("SELECT relevant(abstract) OVER () FROM papers", "relevant(abstract)", "over a window"),
            ("SELECT transform(array('a'), a -> relevant(a)) FROM papers", "relevant(a)", "lambda"),
            (
                "SELECT p.id FROM papers p LEFT JOIN venues v ON relevant(p.abstract)",
                "relevant(p.abstract)",
                "in the condition of this join",
            ),
            (
                "SELECT id FROM papers p WHERE EXISTS (SELECT 1 FROM venues WHERE relevant(upper(p.abstract)))",
                "p.abstract",
                "a column of an outer query",
            ),
            ("SELECT titel FROM papers WHERE relevant(abstract)", "titel", "unknown column titel"),
            ("SELECT id FROM papers WHERE relevant(abstrakt)", "abstrakt", "unknown column abstrakt"),
        ],
    )
    def test_calls_before_any_request(
        self, federation: Connection, sql: str, place: str, message: str
    ) -> None:
        calls = register(federation)
        with pytest.raises(QueryError, match=message.replace(".", r"\.")) as caught:
            federation.sql(sql)
        error = caught.value
        assert error.sql == sql
        assert error.span is not None
        assert sql[error.span.start : error.span.end] == place
        assert calls.seen == []

    @pytest.mark.parametrize(
        ("sql", "hint"),
        [
            ("SELECT relevanz(abstract) FROM papers", "neither Spark SQL nor a source"),
            ("SELECT count(*) FROM papers WHERE lenght(abstract) > 3", "did you mean length or len?"),
        ],
    )
    def test_functions_that_nobody_has_are_told_before_anything_is_asked(
        self, federation: Connection, sql: str, hint: str
    ) -> None:
        register(federation)
        with pytest.raises(QueryError, match=r"unknown function (relevanz|lenght)") as found:
            federation.explain(sql)
        error = found.value
        assert error.span is not None
        assert sql[error.span.start : error.span.end] in {"relevanz", "lenght"}
        assert hint in str(error)

    def test_functions_of_the_catalog_of_a_spark_are_sparks_business(self, federation: Connection) -> None:
        assert "default.relevanz" in federation.explain("SELECT default.relevanz(abstract) FROM papers")
