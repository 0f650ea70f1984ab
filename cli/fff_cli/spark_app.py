"""The commands of `fff spark`: the Spark that stays up between commands."""
# ruff: noqa: ARG001 - `telling` reads `verbose`

from __future__ import annotations

import json
from typing import Annotated

from fff_cli.options.shared import Verbose, commands, option
from fff_cli.telling import telling

spark_app = commands("Your Spark that stays up between commands.")


@spark_app.command("status")
@telling
def spark_status(
    output: Annotated[str | None, option("-o --output FORMAT", "json, for programs. (default: text)")] = None,
    verbose: Verbose = False,
) -> int:
    """Tell whether it is up, since when, how many commands it has served, and when it ends."""
    from fff.display.counts import counted  # noqa: PLC0415
    from fff.errors import UsageError  # noqa: PLC0415
    from fff.spark.start.warm import ask  # noqa: PLC0415
    from fff_cli.output.formats import emit  # noqa: PLC0415

    if output not in (None, "text", "json"):
        raise UsageError(f"a status is not written as {output!r}", hint="use -o json, or leave it out")
    state = ask("tell")
    if output == "json":
        emit(json.dumps({"up": state is not None, **(state or {})}) + "\n")
    elif state is None:
        emit("no Spark is up; the next statement that needs one starts it\n")
    elif not state:
        emit("Spark is starting\n")
    else:
        ends = state["ends_in_s"]
        using = f"{state['attached']} attached" if ends is None else f"ends in {ends:.0f} s unless it is used"
        emit(
            f"Spark is up for {state['up_s']:.0f} s: FFF {state['version']}, process {state['jvm']}, "
            f"{state['bytes'] / 2**20:,.0f} MiB, {counted(state['served'], 'command')} served, {using}\n"
        )
    return 0


@spark_app.command("stop")
@telling
def spark_stop(verbose: Verbose = False) -> int:
    """End it now. Statements that run in it go on in a Spark of their own."""
    from fff.spark.start.warm import stop  # noqa: PLC0415
    from fff_cli.run.progress import say  # noqa: PLC0415

    say("stopped" if stop() else "no Spark was up")
    return 0
