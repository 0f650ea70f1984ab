"""`fff explain`: the plan of a query, without sending a request; with `--analyze` also how it was routed, having run it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from fff.budget import Budget
from fff.errors import FFFError, UsageError
from fff_cli.commands.analyze import analysis
from fff_cli.commands.query import forewarn, run_options
from fff_cli.options.arguments import QueryArguments
from fff_cli.options.cache import cache_of
from fff_cli.options.params import parse_params
from fff_cli.options.recording import check as check_taping
from fff_cli.options.recording import client_of, seeded
from fff_cli.options.texts import sql_texts
from fff_cli.output.console import pager
from fff_cli.output.formats import emit, emit_outline
from fff_cli.output.pager import PagedOutput
from fff_cli.run.account import account_lines, spark_lines
from fff_cli.run.interrupts import Interrupts
from fff_cli.run.progress import say, say_words
from fff_cli.run.reports import Reports

if TYPE_CHECKING:
    from fff.federation import Execution, Federation, RunOutcome
    from fff.stats import Snapshot

#: What the words of a plan mean: told where a line first begins with one.
_GLOSSES = {
    r"Block\b": "tables that the engine reads and joins by itself",
    r"Keys$": "which keys come from elsewhere in the query",
    r"Modules$": "what its rows are sent through",
    r"  scan ": "all rows, page by page",
    r"  lookup ": "the rows of a key that is asked for",
    r"  SteM ": "a store of a table's rows, where others find what they join with",
    r"  selection ": "rows that fail it go no further",
    r"Bindings$": "where the keys of lookups come from",
    r"Conditions$": "what is checked, and by whom",
    r"  equal: ": "the value of one is a key for the others",
    r"  engine: ": "checked as rows come, before more is asked for them",
    r"  seed lookup: ": "keys that stand in the query",
    r"  left to Spark: ": "checked when all has been fetched and joined: --analyze tells what that costs",
    r"Feasible$": "how each table can be reached",
    r"Legal moves$": "to which tables a row of these may go next; F+D is a row of F joined with one of D",
    r"Requests$": "what is sent for each way to reach a table",
    r"Above the blocks?$": "what becomes of its rows",
    r"Forecast$": "from what earlier runs have found",
    r"  policy ": "what decides where a row goes next",
    r"Flow$": "how many rows went where; a tuple is a row, joined as far as it is",
    r"Shares over time": "where the policy sent rows that had a choice",
    r"Hindsight": "what the best order might have cost, had it been known",
    r"  routing spent ": "a hop is one step of a row; seconds are of all requests one after another",
    r"  regret ": "how much more than that order",
    r"Left to Spark$": "rows that were fetched and joined, and then thrown away",
    r"Access$": "what each way to a table was asked, and gave",
}


class Glossed:
    """Lines of plans, each word of their own explained where it is first used."""

    def __init__(self) -> None:
        self._waiting = {re.compile(word): gloss for word, gloss in _GLOSSES.items()}

    def __call__(self, lines: Iterable[str]) -> list[str]:
        """The lines with the glosses that are due in them."""
        return [self._line(line) for line in lines]

    def _line(self, line: str) -> str:
        word = next((one for one in self._waiting if one.match(line)), None)
        return line if word is None else f"{line}  — {self._waiting.pop(word)}"


def run_explain(arguments: QueryArguments, *, analyze: bool, idle: Sequence[str] = ()) -> int:
    """Print how each statement would run, or ran; the exit code. `idle`: options that do nothing here.

    Raises what reading and running them raises.
    """
    if arguments.output not in (None, "json"):
        raise UsageError(
            f"a plan is not written as {arguments.output!r}", hint="use -o json, or leave it out"
        )
    if not analyze and (arguments.report or arguments.record):
        raise UsageError("--report and --record are of a run", hint="add --analyze, which runs it")
    if idle and not arguments.quiet:
        say_words(f"note: {', '.join(idle)} {'does' if len(idle) == 1 else 'do'} nothing here")
    arguments.check_spark()
    check_taping(arguments)
    return asyncio.run(_explain(seeded(arguments), analyze=analyze))


async def _explain(arguments: QueryArguments, *, analyze: bool) -> int:
    from fff_cli.run.federation import look_into_files, open_federation, prepare_all  # noqa: PLC0415 - engine and sources, only now

    texts, params = sql_texts(arguments.sql, arguments.files), parse_params(arguments.params)
    from fff.forecast.words import forecast_data  # noqa: PLC0415

    plans, glossed, paged = list[dict[str, Any]](), Glossed(), list[str]()
    budget, reports = Budget.of(arguments.run.max_requests, arguments.run.budget), Reports(arguments.report)
    interrupts = Interrupts()

    def show(lines: Sequence[str]) -> None:
        if arguments.output is not None:
            return
        if arguments.pager and pager():
            paged.extend(glossed(lines))
        else:
            emit_outline(glossed(lines))

    async def each(federation: Federation) -> int:
        await look_into_files(federation, texts)
        statements = prepare_all(federation, texts, params, arguments.run.prioritize)
        reports.several, exit_code = len(statements) > 1, 0
        for text in forewarn(federation, statements, budget):
            _warn(arguments, text)
        for number, statement in enumerate(statements):
            lines = federation.explain(statement).splitlines()
            if number and arguments.output is None:
                emit("\n")
            show(lines)
            numbers = forecast_data(federation.forecast(statement))
            plans.append({"sql": statement.sql, "plan": lines, "forecast": numbers})
            if analyze and not interrupts.asked:
                execution = federation.execute(
                    statement, run_options(arguments, live=False, measure_filters=True), budget
                )
                await _run(execution, arguments, reports, interrupts)
                outcome = execution.outcome
                exit_code = max(exit_code, outcome.exit_code)
                plans[-1]["report"] = outcome.report
                show(analyzed(outcome, execution.snapshot()))
        if analyze:
            reports.not_run(statements, exit_code)
        return exit_code

    try:
        with interrupts.watching() if analyze else contextlib.nullcontext():
            async with open_federation(
                arguments.sources, options=arguments.run, **client_of(arguments), **cache_of(arguments)
            ) as federation:
                exit_code = await each(federation)
    except (asyncio.CancelledError, FFFError) as error:
        if analyze and isinstance(error, FFFError):
            reports.refused(texts, error)
        reports.write_beside(lambda unwritten: say(f"error: {unwritten.render()}"))
        if interrupts.exit_code is None:
            raise
        say("aborted")
        return interrupts.exit_code
    finally:
        if paged:
            emit_outline(paged, PagedOutput())
    reports.write()
    if arguments.output is not None and plans:
        written = plans[0] if len(plans) == 1 else plans
        emit(json.dumps(written, indent=2, default=str, ensure_ascii=False) + "\n")
    return exit_code


def analyzed(outcome: RunOutcome, snapshot: Snapshot) -> list[str]:
    """How a statement ran, behind its plan."""
    access = ["Access", *account_lines(snapshot.access), *spark_lines(snapshot)]
    return [*analysis(outcome.report), *access]


async def _run(
    execution: Execution, arguments: QueryArguments, reports: Reports, interrupts: Interrupts
) -> None:
    """Run a statement for its account; a first Ctrl-C ends it with what has come by then."""
    interrupts.gentle, rows = execution.interrupt, 0
    try:
        async for batch in execution.batches():
            rows += batch.num_rows
    except BaseException as error:
        reports.failed(execution, error, interrupts.exit_code, rows=rows)
        raise
    finally:
        interrupts.gentle = None
    reports.add(execution.outcome.report)
    for warning in execution.outcome.warnings:
        _warn(arguments, warning)


def _warn(arguments: QueryArguments, text: str) -> None:
    if not arguments.quiet:
        say_words(f"warning: {text}")
