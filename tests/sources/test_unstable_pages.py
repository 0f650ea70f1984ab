"""Rows of a key that come on two pages, where no total tells whether others are lacking."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from aiohttp import web

from tests.sources.reading import Reader
from tests.web.serving import Serve

#: Pages of rows by their keys, and whether others may well be lacking.
CASES: dict[str, tuple[Sequence[Sequence[int]], bool]] = {
    "as they should be": (([1, 2, 3], [4, 5, 6], [7, 8, 9], [10]), False),
    "a row came in front": (([1, 2, 3], [3, 4, 5], [5, 6, 7], [8]), False),
    "two came in front": (([1, 2, 3], [2, 3, 4], [5, 6, 7], [8]), False),
    "ties in another order": (([1, 2, 3], [3, 2, 6], [7, 8, 9], [10]), True),
    "behind a new one": (([1, 2, 3], [4, 3, 6], [7, 8, 9], [10]), True),
    "pages apart": (([1, 2, 3], [4, 5, 6], [3, 8, 9], [10]), True),
    "the first one again": (([1, 2, 3], [1, 5, 6], [7, 8, 9], [10]), True),
    "twice on one page": (([1, 2, 2], [4, 5, 6], [7, 8, 9], [10]), False),
}
CURSOR = "{type: cursor, cursor_path: next, cursor_param: p}"


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("paginator", ["{type: page_number, page_param: p, base_page: 0}", CURSOR])
async def test_rows_that_come_again(
    serve: Serve, read: Callable[..., Reader], case: str, paginator: str
) -> None:
    pages, suspect = CASES[case]

    async def answer(asked: web.Request) -> web.Response:
        number = int(asked.query.get("p", "0"))
        rows = [{"id": key, "name": f"n{key}"} for key in (*pages, ())[number]]
        more = {"next": number + 1} if number + 1 < len(pages) else {}
        return web.json_response({"data": rows, **more})

    served = await serve(answer)
    for key in (", primary_key: [id]", ""):
        reader = read(
            f"{{version: 1, sources: {{api: {{client: {{base_url: '{served.url}'}}, tables: {{t: {{columns: {{id: int, name: string}}{key},"
            f" scan: {{endpoint: {{path: r, data_selector: data, paginator: {paginator}}}}}}}}}}}}}}}"
        )
        assert len(await reader.scan("t")) == 10
        assert reader.truncated == []
        told = [text for text in reader.meter.warnings if "other rows may be missing" in text]
        assert len(told) == reader.meter.doubts == (suspect and bool(key))
