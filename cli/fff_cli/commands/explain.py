"""`fff explain`: the plan of a query, without sending a request; with `--analyze` also how it was routed, having run it."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from fff.budget import Budget
from fff.errors import UsageError
from fff_cli.commands.analyze import analysis
from fff_cli.commands.query import forewarn, run_options
from fff_cli.options.arguments import QueryArguments
from fff_cli.options.cache import cache_of
from fff_cli.options.params import parse_params
from fff_cli.options.texts import sql_texts
from fff_cli.output.formats import emit, emit_outline
from fff_cli.run.account import account_lines, spark_lines
from fff_cli.run.progress import say

if TYPE_CHECKING:
    from fff.federation import Federation, Prepared, RunOutcome
    from fff.stats import Snapshot


def run_explain(arguments: QueryArguments, *, analyze: bool) -> int:
    """Print how each statement would run, or ran; the exit code.

    Raises what reading and running them raises.
    """
    return asyncio.run(_explain(arguments, analyze=analyze))


async def _explain(arguments: QueryArguments, *, analyze: bool) -> int:
    from fff_cli.run.federation import look_into_files, open_federation, prepare_all  # noqa: PLC0415 - engine and sources, only now

    if arguments.output not in (None, "json"):
        raise UsageError(
            f"a plan is not written as {arguments.output!r}", hint="use -o json, or leave it out"
        )
    texts, params = sql_texts(arguments.sql, arguments.files), parse_params(arguments.params)
    from fff.forecast.words import forecast_data  # noqa: PLC0415

    exit_code, plans = 0, list[dict[str, Any]]()
    budget = Budget.of(arguments.run.max_requests, arguments.run.budget)
    async with open_federation(arguments.sources, **cache_of(arguments)) as federation:
        await look_into_files(federation, texts)
        statements = prepare_all(federation, texts, params, arguments.run.prioritize)
        for text in forewarn(federation, statements, budget):
            say(f"warning: {text}")
        for number, statement in enumerate(statements):
            lines = federation.explain(statement).splitlines()
            if arguments.output is None:
                emit("\n" * bool(number))
                emit_outline(lines)
            else:
                numbers = forecast_data(federation.forecast(statement))
                plans.append({"sql": statement.sql, "plan": lines, "forecast": numbers})
            if analyze:
                outcome, snapshot = await _ran(federation, statement, arguments, budget)
                exit_code = max(exit_code, outcome.exit_code)
                if arguments.output is None:
                    emit_outline(analysis(outcome.report))
                    emit_outline(["Access", *account_lines(snapshot.access), *spark_lines(snapshot)])
                else:
                    plans[-1]["report"] = outcome.report
    if plans:
        emit(
            json.dumps(plans[0] if len(plans) == 1 else plans, indent=2, default=str, ensure_ascii=False)
            + "\n"
        )
    return exit_code


async def _ran(
    federation: Federation, statement: Prepared, arguments: QueryArguments, budget: Budget | None
) -> tuple[RunOutcome, Snapshot]:
    execution = federation.execute(statement, run_options(arguments, live=False), budget)
    async for _ in execution.batches():
        pass
    for warning in execution.outcome.warnings:
        say(f"warning: {warning}")
    return execution.outcome, execution.snapshot()
