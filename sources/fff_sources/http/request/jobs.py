"""Questions that take their time: submitted, asked about until they are done, and fetched from where the answer is."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Protocol

from fff.web.clock import Clock
from fff.web.types import Response
from fff_sources.http import templates
from fff_sources.http.response.json import MalformedJSON, WrongShape, decode_exact
from fff_sources.http.response.jsonpath import first, parse_path
from fff_sources.http.spec import spec

SUBMITTED = frozenset({202})  # of a job there is an answer where others have none yet
_SLOWER = 1.5  # times as long after each time that a job is not done, up to
_SLOWEST = 10  # times as long as at first


class JobFailedError(Exception):
    """The source says that a job has failed, or it was not done in time; the message says which, and `hint` what to do."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class Gets(Protocol):
    """Asks for a place of the source."""

    def __call__(self, path: str) -> Awaitable[Response]:
        """The answer."""


async def done(job: spec.JobSpec, submitted: Response, get: Gets, clock: Clock) -> str:
    """Where the answer is, once it is there.

    Raises JobFailedError, and whatever `get` raises.
    """
    known = _taken(job.submit, submitted, {})
    began, pause, polls = clock.now(), job.poll.every, 0
    while True:
        answer = await get(_path(job.poll.path, known))
        polls += 1
        if (failure := _fits(job.failed, answer)) is not None:
            message = f"the job has failed: {job.failed and job.failed.path} is {failure!r}"
            raise JobFailedError(message, "the source says so itself: ask for less, or try again later")
        if _fits(job.done, answer) is not None:
            return _path(job.fetch, _taken(job.poll.take, answer, known))
        spent = clock.now() - began
        if polls >= job.poll.most or spent + pause > job.poll.within:
            raise JobFailedError(
                f"the job was not done after {polls} polls in {spent:.0f} s (poll: most {job.poll.most}, "
                f"within {job.poll.within:g} s)",
                "give it longer with job.poll.within and most, and see whether job.done and job.failed say how it ends",
            )
        await clock.sleep(pause)
        pause = min(pause * _SLOWER, job.poll.every * _SLOWEST)


def _at(path: str, answer: Response) -> object:
    try:
        place = first(answer.body, parse_path(path))
        return None if place is None else decode_exact(place)
    except WrongShape as error:  # 1e400
        raise JobFailedError(f"what is said of the job at {path!r} cannot be read: {error}") from None
    except MalformedJSON:
        raise JobFailedError(f"what is said of the job is not JSON, so {path!r} cannot be read") from None


def _taken(wanted: Mapping[str, str], answer: Response, known: Mapping[str, str]) -> dict[str, str]:
    """What is known of a job, with what an answer tells."""
    taken = dict(known)
    for name, path in wanted.items():
        value = _at(path, answer)
        if value is None or isinstance(value, dict | list):
            raise JobFailedError(f"what is said of the job has no {path!r}")
        taken[name] = templates.text_of(value)
    return taken


def _fits(state: spec.JobState | None, answer: Response) -> object:
    """What stands at the place of a state, where that means the state; None where it does not."""
    if state is None:
        return None
    value = _at(state.path, answer)
    wanted = state.equals if isinstance(state.equals, list) else [state.equals]
    if state.equals is None:
        return value or None
    return (
        value
        if value is not None and any(value == one and type(value) is type(one) for one in wanted)
        else None
    )


def _path(template: str, known: Mapping[str, str]) -> str:
    """A path with what is known of the job: escaped, unless it is a URL by itself."""
    alone = template.removeprefix("{").removesuffix("}")
    if f"{{{alone}}}" == template and known.get(alone, "").startswith(("http://", "https://", "/")):
        return known[alone]
    return templates.fill_text(template, {name: templates.segment(text) for name, text in known.items()})


__all__ = ["SUBMITTED", "Gets", "JobFailedError", "done"]
