"""`fff explain`: the plan of a query, without sending a request; with `--analyze` also how it was routed, having run it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from fff_cli.analysis import analysis
from fff_cli.arguments import QueryArguments
from fff_cli.output import emit
from fff_cli.params import parse_params
from fff_cli.progress import say
from fff_cli.query import run_options, sql_texts
from fff_cli.values import line_printable

if TYPE_CHECKING:
    from fff.engine import Federation, Prepared


def run_explain(arguments: QueryArguments, *, analyze: bool) -> int:
    """Print how each statement would run, or ran; the exit code. Raises what reading and running them raises."""
    return asyncio.run(_explain(arguments, analyze=analyze))


async def _explain(arguments: QueryArguments, *, analyze: bool) -> int:
    from fff_cli.federation import open_federation, prepare_all  # noqa: PLC0415 - engine and sources, only now

    texts, params = sql_texts(arguments.sql, arguments.files), parse_params(arguments.params)
    exit_code = 0
    async with open_federation(arguments.sources) as federation:
        statements = prepare_all(federation, texts, params)
        for number, statement in enumerate(statements):
            emit("\n" * bool(number) + line_printable(federation.explain(statement)).rstrip("\n") + "\n")
            if analyze:
                exit_code = max(exit_code, await _analyze(federation, statement, arguments))
    return exit_code


async def _analyze(federation: Federation, statement: Prepared, arguments: QueryArguments) -> int:
    execution = federation.execute(statement, run_options(arguments, live=False))
    async for _ in execution.batches():
        pass
    report = execution.outcome.report
    for warning in report["warnings"]:
        say(f"warning: {warning}")
    emit("\n".join(line_printable(line) for line in analysis(report)) + "\n")
    return execution.outcome.exit_code
