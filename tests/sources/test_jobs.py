"""Jobs over a real wire: submitted, asked about, fetched in pages; those that fail, and those that never end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web

from fff.errors import SourceError
from fff_sources.load import lint
from tests.sources.reading import Reader
from tests.web.serving import Serve

Read = Callable[..., Reader]
JOB = "job: {submit: {job: id}, poll: {path: 'jobs/{job}', every: 1, within: 60}, done: {path: state, equals: done}, failed: {path: state, equals: [failed, gone]}, fetch: 'jobs/{job}/rows'}"


class Jobs:
    """Does a job in some polls; its rows are in pages of two."""

    def __init__(self, polls: int, end: str = "done", *, status: int = 200) -> None:
        self.polls = polls
        self.status = status  # of what is not done yet
        self.end = end
        self.asked: dict[str, int] = {}  # job -> polls
        self.submitted: list[Any] = []

    async def answer(self, request: web.Request) -> web.Response:
        match request.path.split("/")[1:]:
            case ["query"]:
                assert request.method == "POST"
                self.submitted.append(await request.json())
                job = f"j {len(self.submitted)}"
                self.asked[job] = 0
                return web.json_response({"id": job}, status=self.status)
            case ["jobs", job]:
                self.asked[job] += 1
                state = "running" if self.asked[job] <= self.polls else self.end
                told = {"state": state, "result": f"/files/{job.replace(' ', '-')}"}
                return web.json_response(told, status=self.status if state == "running" else 200)
            case ["jobs", job, "rows"]:
                start = int(request.query.get("offset", 0))
                wanted = self.submitted[int(job.split()[1]) - 1].get("zip")
                rows = [{"zip": wanted or "x", "n": n} for n in range(5)]
                return web.json_response({"rows": rows[start : start + 2]})
            case ["files", _]:
                return web.json_response({"rows": [{"zip": "file", "n": 1}]})
        raise web.HTTPNotFound


def spec(url: str, job: str = JOB, paginator: str = "{type: offset}") -> str:
    endpoint = f"{{path: query, method: POST, data_selector: rows, paginator: {paginator}, {job}"
    return (
        f"{{version: 1, sources: {{api: {{client: {{base_url: '{url}', auth: {{type: bearer, token: long-token}}, retry: {{max_attempts: 1}}}}, tables: {{t: {{columns: {{zip: string, n: int}},"
        f" scan: {{endpoint: {endpoint}, json: {{all: true}}}}}},"
        f" lookups: [{{keys: [zip], endpoint: {endpoint}, json: {{zip: '{{zip}}'}}}}}}]}}}}}}}}}}"
    )


async def test_a_job_is_waited_for_and_fetched_in_pages(serve: Serve, read: Read) -> None:
    jobs = Jobs(polls=3)
    reader = read(spec((await serve(jobs.answer)).url))
    assert [row["n"] for row in await reader.scan("t")] == [0, 1, 2, 3, 4]
    assert jobs.asked == {"j 1": 4}
    assert reader.time.slept == [1, 1.5, 2.25]
    assert reader.meter.requests == 1 + 4 + 4  # pages until an empty one
    rows = await reader.lookup("t", "94704", "60601")
    assert {row["zip"] for row in rows} == {"94704", "60601"}
    assert jobs.submitted == [{"all": True}, {"zip": "94704"}, {"zip": "60601"}]
    assert reader.truncated == []
    assert any("answered by jobs" in note for note in reader.table("t").notes)


async def test_a_job_may_be_accepted_in_place_of_answered(serve: Serve, read: Read) -> None:
    reader = read(spec((await serve(Jobs(polls=2, status=202).answer)).url))
    assert [row["n"] for row in await reader.scan("t")] == [0, 1, 2, 3, 4]


async def test_the_place_of_the_answer_may_be_told_when_it_is_done(serve: Serve, read: Read) -> None:
    jobs = Jobs(polls=0)
    job = "job: {submit: {job: id}, poll: {path: 'jobs/{job}', take: {file: result}}, done: {path: state, equals: done}, fetch: '{file}'}"
    reader = read(spec((await serve(jobs.answer)).url, job, "single_page"))
    assert await reader.scan("t") == [{"zip": "file", "n": 1}]


@pytest.mark.parametrize(
    ("jobs", "job", "says"),
    [
        (Jobs(2, "failed"), JOB, "the job has failed: state is 'failed'"),
        (Jobs(10_000), JOB, r"not done after \d+ polls in \d+ s"),
        (Jobs(10_000), JOB.replace("every: 1", "every: 0.001, most: 3"), "not done after 3 polls"),
        (Jobs(0), JOB.replace("{job: id}", "{job: nothing}"), "has no 'nothing'"),
    ],
)
async def test_what_goes_wrong_is_told(serve: Serve, read: Read, jobs: Jobs, job: str, says: str) -> None:
    reader = read(spec((await serve(jobs.answer)).url, job))
    with pytest.raises(SourceError, match=says) as caught:
        await reader.scan("t")
    assert "long-token" not in caught.value.render()
    assert ("correct the source's spec" in caught.value.render()) is says.startswith("has no")


def test_lint_finds_what_nothing_fills(tmp_path: Any) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(spec("https://e.org", JOB.replace("'jobs/{job}/rows'", "'jobs/{other}'")))
    assert any("nothing fills {other}" in str(error) for error in lint(file))
