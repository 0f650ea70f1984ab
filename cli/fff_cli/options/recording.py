"""`--record` and `--replay`: the web client they stand for, and the seed that goes with a recording."""

from __future__ import annotations

import random
from typing import Any

from fff.errors import UsageError
from fff.structs import replace
from fff_cli.options.arguments import QueryArguments


def check(arguments: QueryArguments) -> None:
    """Raise UsageError for options that exclude each other."""
    if arguments.record is not None and arguments.replay is not None:
        raise UsageError("--record and --replay exclude each other")
    if arguments.replay_speed is not None and arguments.replay is None:
        raise UsageError("--replay-speed goes with --replay", hint="name the recording with --replay DIR")


def seeded(arguments: QueryArguments) -> QueryArguments:
    """The arguments with the seed that is recorded, or was: a run is repeated with its own.

    Raises UsageError.
    """
    if arguments.run.seed is not None:
        return arguments
    if arguments.record is not None or arguments.checkpoint is not None:
        return _with_seed(arguments, random.SystemRandom().getrandbits(31))
    if arguments.replay is not None:
        from fff.web.recording import about  # noqa: PLC0415 - brings the web client

        seed = about(arguments.replay).get("seed")
        return _with_seed(arguments, seed) if isinstance(seed, int) else arguments
    return arguments


def _with_seed(arguments: QueryArguments, seed: int) -> QueryArguments:
    return replace(arguments, run=replace(arguments.run, seed=seed))


def client_of(arguments: QueryArguments) -> dict[str, Any]:
    """The client to send with as `open_federation` takes it; nothing for the network alone.

    Raises UsageError.
    """
    if arguments.record is None and arguments.replay is None:
        return {}
    from fff.web.recording import recording_client, replaying_client  # noqa: PLC0415

    if arguments.record is not None:
        return {"client": recording_client(arguments.record, {"seed": arguments.run.seed})}
    assert arguments.replay is not None
    speed = 1.0 if arguments.replay_speed is None else arguments.replay_speed
    return {"client": replaying_client(arguments.replay, speed)}
