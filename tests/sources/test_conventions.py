"""Every convention of telling of further pages: followed to the last record or, where that cannot be, an incomplete answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web

from fff_sources.authoring.sampling.paging import Seen, guesses
from fff_sources.http.paging import conventions
from fff_sources.http.paging.envelope import told_more
from fff_sources.http.response.jsonpath import parse_path
from tests.sampling import every
from tests.sources.reading import Reader
from tests.web.serving import Serve

Read = Callable[..., Reader]
COUNT, SIZE = 57, 10
ALL = list(range(COUNT))


@dataclass(frozen=True)
class Page:
    """One answer: where it begins, and what the request was."""

    start: int
    asked: web.Request

    @property
    def rows(self) -> list[dict[str, int]]:
        return [{"id": n} for n in ALL[self.start : self.start + SIZE]]

    @property
    def after(self) -> int | None:
        return self.start + SIZE if self.start + SIZE < COUNT else None

    @property
    def number(self) -> int:
        return self.start // SIZE

    def link(self) -> str | None:
        return None if self.after is None else f"/r?at={self.after}"


def at(param: str = "at") -> Callable[[web.Request], int]:
    """Positions under a parameter."""
    return lambda asked: int(asked.query.get(param, 0))


def numbered(param: str = "page", base: int = 1) -> Callable[[web.Request], int]:
    return lambda asked: (int(asked.query.get(param, base)) - base) * SIZE


@dataclass(frozen=True)
class Way:
    """How a source tells: its answer, where a page begins, and what of a request is looked at."""

    body: Callable[[Page], Any]
    start: Callable[[web.Request], int] = field(default_factory=at)
    headers: Callable[[Page], Mapping[str, str]] = lambda _: {}
    selector: str = "data"
    more: str = ""
    sent: Mapping[int, Mapping[str, str]] = field(default_factory=dict)  # request -> its whole query


def beside(words: Callable[[Page], dict[str, Any]]) -> Callable[[Page], Any]:
    return lambda page: {"data": page.rows, **words(page)}


def given(**values: Any) -> dict[str, Any]:
    """Without what is None."""
    return {name: value for name, value in values.items() if value is not None}


def listed(relation: str, url: str) -> Callable[[Page], dict[str, Any]]:
    def links(page: Page) -> list[dict[str, Any]]:
        own = {relation: "self", url: "/r"}
        return [own] if page.link() is None else [own, {relation: "next", url: page.link()}]

    return lambda page: {"links" if relation == "rel" else "link": links(page)}


def oai(page: Page) -> str:
    rows = "".join(f"<record><id>{row['id']}</id></record>" for row in page.rows)
    token = "" if page.after is None else page.after
    tail = f'<resumptionToken completeListSize="60" cursor="{page.start}">{token}</resumptionToken>'
    return f'<OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/"><ListRecords>{rows}{tail}</ListRecords></OAI-PMH>'


def open_search(page: Page) -> str:
    rows = "".join(f"<entry><id>{row['id']}</id></entry>" for row in page.rows)
    return (
        '<feed xmlns:o="http://a9.com/-/spec/opensearch/1.1/">'
        f"<o:totalResults>{COUNT}</o:totalResults><o:startIndex>0</o:startIndex>{rows}</feed>"
    )


def atom(page: Page) -> str:
    link = f'<link rel="next" href="{page.link()}"/>' if page.after is not None else ""
    rows = "".join(f"<entry><id>{row['id']}</id></entry>" for row in page.rows)
    return f'<feed><link rel="self" href="/r"/>{link}{rows}</feed>'


XML = ", format: xml"

#: What is followed, with one request for each page.
FOLLOWED = {
    "Link header": Way(beside(lambda _: {}), headers=lambda p: {} if p.link() is None else {"Link": f'<{p.link()}>; rel="next"'}),
    "DRF": Way(beside(lambda p: {"count": COUNT, "next": p.link(), "previous": None})),
    "JSON:API": Way(beside(lambda p: {"links": {"self": "/r", "next": p.link()}})),
    "JSON:API objects": Way(beside(lambda p: {"links": {"next": {"href": p.link(), "meta": {}}}})),
    "links before more": Way(lambda p: {"data": p.rows, "links": {"next": p.link()}, "included": [{"id": n, "next": "x"} for n in range(900)]}),
    "HAL": Way(lambda p: {"_links": given(next=p.link() and {"href": p.link()}), "_embedded": {"rows": p.rows}}, selector="_embedded.rows"),
    "HAL in lists": Way(beside(lambda p: {"_links": given(next=p.link() and [{"href": p.link()}])})),
    "Siren": Way(beside(lambda p: {"links": [{"rel": ["self"], "href": "/r"}] + [{"rel": ["next"], "href": url} for url in [p.link()] if url]})),
    "Collection+JSON": Way(beside(lambda p: {"links": [{"name": "next", "href": url} for url in [p.link()] if url]})),
    "Link header, single quotes": Way(beside(lambda _: {}), headers=lambda p: {} if p.link() is None else {"Link": f"<{p.link()}>; rel='next'"}),
    "Link header, a title before": Way(
        beside(lambda _: {}),
        headers=lambda p: {} if p.link() is None else {"Link": f'</r>; title="a; rel=next"; rel=first, <{p.link()}>; title="b, c; rel=prev"; rel="foo next"'},
    ),
    "OGC API": Way(beside(listed("rel", "href")), selector="data"),
    "FHIR": Way(lambda p: {"total": COUNT, "entry": p.rows, **listed("relation", "url")(p)}, selector="entry"),
    "Atom": Way(atom, selector="feed.entry", more=XML),
    "Hydra": Way(beside(lambda p: {"hydra:totalItems": COUNT, "hydra:view": given(**{"hydra:next": p.link()})})),
    "OData": Way(beside(lambda p: given(**{"@odata.nextLink": p.link()}))),
    "OData 2": Way(beside(lambda p: given(**{"odata.nextLink": p.link()}))),
    "nextLink": Way(beside(lambda p: given(nextLink=p.link()))),
    "Salesforce": Way(beside(lambda p: {"totalSize": COUNT, "done": p.after is None, **given(nextRecordsUrl=p.link())})),
    "Twilio": Way(beside(lambda p: {"next_page_uri": p.link()})),
    "HubSpot": Way(beside(lambda p: given(paging=p.link() and {"next": {"after": "x", "link": p.link()}}))),
    "search_metadata.next_results": Way(beside(lambda p: {"search_metadata": given(next_results=p.link())})),
    "meta.pagination.links": Way(beside(lambda p: {"meta": {"pagination": {"total": COUNT, "count": SIZE, "links": given(next=p.link())}}})),
    "Laravel": Way(beside(lambda p: {"current_page": p.number + 1, "last_page": 6, "next_page_url": p.link(), "total": COUNT})),
    "Laravel without URLs": Way(beside(lambda p: {"current_page": p.number + 1, "last_page": 6}), numbered()),
    "MediaWiki": Way(
        lambda p: {"query": {"search": p.rows}, **given(**{"continue": p.after and {"sroffset": p.after, "continue": "-||"}})},
        at("sroffset"), selector="query.search", more=", params: {action: query}",
        sent={1: {"action": "query", "sroffset": "10", "continue": "-||"}},
    ),
    "OAI-PMH": Way(
        oai, at("resumptionToken"), selector="OAI-PMH.ListRecords.record", more=XML + ", params: {verb: ListRecords, metadataPrefix: oai_dc}",
        sent={0: {"verb": "ListRecords", "metadataPrefix": "oai_dc"}, 1: {"verb": "ListRecords", "resumptionToken": "10"}},
    ),
    "Kubernetes": Way(beside(lambda p: {"metadata": {"continue": "" if p.after is None else str(p.after)}}), at("continue")),
    "next_cursor": Way(beside(lambda p: {"response_metadata": {"next_cursor": (p.after and str(p.after)) or ""}}), at("cursor")),
    "nextCursor": Way(beside(lambda p: {"nextCursor": p.after}), at("cursor")),
    "cursors.next": Way(beside(lambda p: {"cursors": {"next": p.after and str(p.after)}}), at("cursor")),
    "next_page_token": Way(beside(lambda p: {"next_page_token": p.after and str(p.after)}), at("page_token")),
    "nextPageToken": Way(beside(lambda p: given(nextPageToken=p.after and str(p.after))), at("pageToken")),
    "nextToken": Way(beside(lambda p: given(nextToken=p.after and str(p.after))), at("nextToken")),
    "continuationToken": Way(beside(lambda p: given(continuationToken=p.after and str(p.after))), at("continuationToken")),
    "S3": Way(
        lambda p: "<R>" + "".join(f"<C><id>{r['id']}</id></C>" for r in p.rows) + f"<IsTruncated>{str(p.after is not None).lower()}</IsTruncated>"
        + ("" if p.after is None else f"<NextMarker>{p.after}</NextMarker>") + "</R>", at("marker"), selector="R.C", more=XML,
    ),
    "next_marker": Way(beside(lambda p: {"next_marker": p.after}), at("marker")),
    "Airtable": Way(beside(lambda p: given(offset=p.after and f"itr/{p.after}")), lambda asked: int(asked.query.get("offset", "itr/0")[4:])),
    "GBIF": Way(beside(lambda p: {"offset": p.start, "limit": SIZE, "endOfRecords": p.after is None, "count": COUNT}), at("offset")),
    "offset, limit, total": Way(beside(lambda p: {"offset": p.start, "limit": SIZE, "total": COUNT}), at("offset")),
    "skip, limit, total": Way(beside(lambda p: {"skip": p.start, "limit": SIZE, "total": COUNT}), at("skip")),
    "Solr": Way(lambda p: {"response": {"numFound": COUNT, "start": p.start, "docs": p.rows}}, at("start"), selector="response.docs"),
    "Jira": Way(beside(lambda p: {"startAt": p.start, "maxResults": SIZE, "isLast": p.after is None}), at("startAt")),
    "SCIM": Way(beside(lambda p: {"totalResults": COUNT, "startIndex": p.start + 1, "itemsPerPage": SIZE}), lambda asked: int(asked.query.get("startIndex", 1)) - 1),
    "page, total_pages": Way(beside(lambda p: {"meta": {"page": p.number + 1, "total_pages": 6}}), numbered()),
    "page, per_page, total": Way(beside(lambda p: {"page": p.number + 1, "per_page": SIZE, "total": COUNT}), numbered()),
    "page, has_more": Way(beside(lambda p: {"page": p.number + 1, "has_more": p.after is not None}), numbered()),
    "current, last": Way(beside(lambda p: {"paging": {"current": p.number + 1, "last": 6}}), numbered()),
    "current, pages": Way(beside(lambda p: {"pagination": {"current": p.number + 1, "pages": 6}}), numbered()),
    "pages from zero": Way(beside(lambda p: {"page": p.number, "pages": 6}), numbered(base=0)),
    "pageNumber": Way(beside(lambda p: {"pageNumber": p.number + 1, "totalPages": 6}), numbered("pageNumber")),
    "Spring": Way(beside(lambda p: {"page": {"size": SIZE, "totalElements": COUNT, "totalPages": 6, "number": p.number}}), numbered(base=0)),
    "Spring, flat": Way(beside(lambda p: {"number": p.number, "totalPages": 6, "last": p.after is None, "first": p.start == 0}), numbered(base=0)),
    "World Bank": Way(lambda p: [{"page": p.number + 1, "pages": 6, "total": COUNT}, p.rows], numbered(), selector="[1]"),
    "X-WP-TotalPages": Way(lambda p: p.rows, numbered(), headers=lambda _: {"X-WP-Total": "57", "X-WP-TotalPages": "6"}, selector="$"),
    "X-Page, X-Total-Pages": Way(
        lambda p: p.rows, numbered(), selector="$",
        headers=lambda p: {"X-Page": str(p.number + 1), "X-Next-Page": "" if p.after is None else str(p.number + 2), "X-Total-Pages": "6", "X-Total": "57"},
    ),
}  # fmt: skip


def spec(url: str, way: Way, paginator: str = "") -> str:
    return (
        f"{{version: 1, sources: {{api: {{client: {{base_url: '{url}'}}, tables: {{t: {{columns: {{id: int}},"
        f" scan: {{endpoint: {{path: r, data_selector: '{way.selector}'{way.more}{paginator}}}}}}}}}}}}}}}"
    )


def handler(way: Way) -> Callable[[web.Request], Any]:
    async def answer(asked: web.Request) -> web.Response:
        page = Page(way.start(asked), asked)
        body = way.body(page)
        if isinstance(body, str):
            return web.Response(text=body, headers=way.headers(page))
        return web.json_response(body, headers=way.headers(page))

    return answer


@pytest.mark.parametrize("name", every(4, FOLLOWED))
async def test_followed(serve: Serve, read: Read, name: str) -> None:
    way = FOLLOWED[name]
    served = await serve(handler(way))
    for window in (1, 4):
        reader = read(spec(served.url, way))
        assert [row["id"] for row in await reader.scan("t", window=window)] == ALL
        assert reader.truncated == []
        assert not reader.meter.warnings
    assert len(served.asked) == 2 * 6, "no request more than there are pages"
    for number, query in way.sent.items():
        assert dict(served.asked[number].query) == query


#: What says that there is more, and not how to ask for it: beside the records, or in the header.
PARTIAL: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    **{word: ({word: COUNT}, {}) for word in (
        "total", "count", "total_count", "totalCount", "total-results", "totalResults", "TotalRecords", "total_items", "totalElements", "totalHits",
        "numFound", "numberMatched", "nbHits", "@odata.count", "recordsFiltered", "found", "resultCount", "number_of_records", "opensearch:totalResults")},
    **{f"{word} as text": ({word: str(COUNT)}, {}) for word in ("total", "total_count")},
    "Elasticsearch": ({"total": {"value": COUNT, "relation": "eq"}}, {}),
    "Elasticsearch, at least": ({"total": {"value": COUNT, "relation": "gte"}}, {}),
    "an estimate": ({"total_count": COUNT, "is_count_exact": False}, {}),
    "total_pages": ({"total_pages": 6}, {}),
    "page of pages": ({"page": 1, "pages": 6, "next": "z"}, {}),
    **{word: ({word: True}, {}) for word in (
        "has_more", "hasMore", "has_next", "hasNextPage", "more", "moreResults", "isTruncated", "truncated", "exceededTransferLimit")},
    **{f"no {word}": ({word: False}, {}) for word in ("isLast", "last_page", "endOfRecords", "last")},
    "Relay": ({"pageInfo": {"hasNextPage": True, "endCursor": "x"}}, {}),
    **{word: ({word: "x9"}, {}) for word in (
        "token", "cursor", "marker", "next", "next_token", "NextToken", "scroll_id", "_scroll_id", "bookmark", "nextKey", "pageToken", "search_after")},
    "next_page": ({"next_page": 2}, {}),
    "next_offset": ({"next_offset": 10}, {}),
    "an object as a cursor": ({"next_cursor": {"id": 9}}, {}),
    "DynamoDB": ({"LastEvaluatedKey": {"id": {"N": "9"}}}, {}),
    "a list as a cursor": ({"nextCursor": [9, "x"]}, {}),
    **{f"{name}, once more": ({name: value}, {}) for name, value in {
        "has_more": 1, "hasMore": "yes", "has_next_page": "T", "is_last": "0", "more": 25, "remaining_items": 25, "hasMoreEntries": True,
        "has_more_rows": True, "next_page_available": True, "done": False, "end": False, "finished": "false", "next_batch": "z", "next_id": 9,
        "next_page_no": 2, "query-continue": {"allpages": {"from": "K"}}, "total": "1,057", "estimatedTotalHits": COUNT, "hit_count": COUNT,
        "totalRecs": COUNT, "fullCount": COUNT, "totalResultsAvailable": COUNT}.items()},
    **{f"{name} speaks of it": ({name: words}, {}) for name, words in {
        "context": {"matched": COUNT, "returned": SIZE}, "summary": {"total_count": COUNT}, "result_info": {"count": SIZE, "total_count": COUNT},
        "resultset": {"offset": 1, "count": COUNT, "limit": SIZE}, "paginator": {"total": COUNT}, "pagingInfo": {"totalRecords": COUNT},
        "list_info": {"has_more_rows": True}, "page_context": {"page": 3, "has_more_page": True}, "navigation": {"next": "z"},
        "additional_data": {"pagination": {"more_items_in_collection": True}}, "wrapped": {"paging": {"next": "z"}}}.items()},
    "done, and a token": ({"done": True, "truncated": False, "next_token": "z"}, {}),
    "no more than a bound": ({"total": {"value": SIZE, "relation": "gte"}}, {}),
    "the bound of a page": ({"total": {"value": SIZE - 1, "relation": "gte"}}, {}),
    **{field: ({}, {field: "57"}) for field in (
        "Total", "X-Count", "X-TotalCount", "X-Item-Count", "Records-Total", "X-List-Total", "OpenSearch-TotalResults", "X-Collection-Total", "Pagination-Count")},
    **{field: ({}, {field: "x9"}) for field in ("Next-Cursor", "X-Amz-Next-Token", "OPC-Next-Page", "X-Foo-Next", "Next-Range")},
    **{f"{name}, as few write it": ({name: value}, {}) for name, value in {
        "pages": "6", "total_records": 57.0, "totalCount": "57.0", "total_count": " 57 ", "totalCnt": COUNT, "nb_results": COUNT, "available": COUNT, "remaining": 47,
        "items_left": 47, "more": "/r?at=10", "older_url": "/r?at=10", "page": "1 of 6", "range": "0-9/57", "message": "Showing 1 to 10 of 57 entries"}.items()},
    **{f"said: {text}": ({"message": text}, {}) for text in ("Showing 10 of 57", "Displaying the first 10 entries of 57 entries", "results: 10 out of about 57")},
    "current and last, not from the first": ({"paging": {"current": 3, "last": 6}}, {}),
    "Link to the last alone": ({}, {"Link": '</r?page=6>; rel="last"'}),
    "Link without brackets": ({}, {"Link": '/r?at=10; rel="next"'}),
    **{field: ({}, {field: "x9"}) for field in ("X-Cursor", "X-Scroll-Id")},
    "X-More": ({}, {"X-More-Available": "1"}),
    "a templated link": ({"_links": {"next": {"href": "/r{?page}", "templated": True}}}, {}),
    **{field: ({}, {field: "57"}) for field, word in conventions.HEADERS.items() if word == "total_count"},
    **{field: ({}, {field: "6"}) for field, word in conventions.HEADERS.items() if word == "total_pages" and field not in conventions.COUNTED_PAGES},
    **{field: ({}, {field: "x"}) for field, word in conventions.HEADERS.items() if word.startswith("next")},
    **{field: ({}, {field: "true"}) for field, word in conventions.HEADERS.items() if word == "has_more"},
    "X-Pagination": ({}, {"X-Pagination": '{"CurrentPage": 1, "TotalPages": 6, "TotalCount": 57}'}),
    "Content-Range": ({}, {"Content-Range": "0-9/57"}),
    "Content-Range of items": ({}, {"Content-Range": "items 0-9/57"}),
}  # fmt: skip


@pytest.mark.parametrize("name", every(4, PARTIAL))
async def test_what_cannot_be_followed_is_incomplete(serve: Serve, read: Read, name: str) -> None:
    words, fields = PARTIAL[name]
    way = Way(beside(lambda _: words), headers=lambda _: fields)
    served = await serve(handler(way))
    reader = read(spec(served.url, way))
    assert len(await reader.scan("t")) == SIZE
    [reason] = reader.truncated
    assert reason.startswith("there is more than what came")
    assert "declare the paginator" in reason
    assert len(served.asked) == 1


async def test_open_search_in_xml_is_incomplete(serve: Serve, read: Read) -> None:
    way = Way(open_search, selector="feed.entry", more=XML)
    served = await serve(handler(way))
    reader = read(spec(served.url, way))
    assert len(await reader.scan("t")) == SIZE
    assert "10 of 57 by 'totalResults'" in reader.truncated[0]
    assert len(served.asked) == 1


@pytest.mark.parametrize("form", ["csv", "ndjson"])
async def test_lines_are_told_of_by_the_header(serve: Serve, read: Read, form: str) -> None:
    def lines(page: Page) -> str:
        if form == "csv":
            return "id\n" + "".join(f"{row['id']}\n" for row in page.rows)
        return "".join(f'{{"id": {row["id"]}}}\n' for row in page.rows)

    more = f", format: {form}"
    followed = Way(lines, headers=FOLLOWED["Link header"].headers, selector="$", more=more)
    served = await serve(handler(followed))
    reader = read(spec(served.url, followed))
    assert [row["id"] for row in await reader.scan("t")] == ALL
    assert reader.truncated == []
    counted = Way(lines, headers=lambda _: {"X-Total-Count": "57"}, selector="$", more=more)
    served = await serve(handler(counted))
    reader = read(spec(served.url, counted))
    assert len(await reader.scan("t")) == SIZE
    assert len(reader.truncated) == 1


#: What an answer that is whole may say as well.
WHOLE: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "the count of what came": ({"count": 10, "total": 10, "total_count": 10}, {"X-Total-Count": "10"}),
    "a count of less": ({"count": 3}, {}),
    "a sum": ({"total": 1234.5, "count": "many"}, {}),
    "a range of days": ({"period": "2024-01-01/2024-12-31", "ratio": "3/4", "range": "1-10 of 10", "page": "4 of 4"}, {}),
    "numbers that are none": ({"total": True, "total_count": None, "numberMatched": "unknown"}, {}),
    "an end": ({"has_more": False, "next": None, "next_cursor": "", "cursor": "x", "nextPageToken": ""}, {}),
    "one page": ({"page": 1, "pages": 1, "total": 10, "per_page": 10}, {"X-Total-Pages": "1", "X-Page": "1", "X-Next-Page": ""}),
    "links elsewhere": ({"links": [{"rel": "self", "href": "/r"}, {"rel": "prev", "href": "/r?p=0"}]}, {"Link": '</r>; rel="last"'}),
    "this is the last": ({"paging": {"current": 1, "last": 1}, "message": "Showing 10 of 10"}, {"Link": '</r?page=1>; rel="last"'}),
    "other sentences": ({"message": "Rated 4 of 5 stars", "note": "row 3 of the table", "first": 1, "last": 99}, {}),
    "an empty link": ({"links": {"next": {"href": None}}, "_links": {"next": {}}}, {}),
    "cursors of this page": ({"paging": {"cursors": {"after": "x", "before": "y"}}}, {}),
    "a cursor, and all of them": ({"cursor": "x", "total_count": 10}, {}),
    "bytes": ({}, {"Content-Range": "bytes 0-9/5000"}),
    "no total": ({}, {"Content-Range": "0-9/*"}),
    "things with totals of their own": ({"cart": {"id": 7, "total_items": 99}, "others": {"total_count": 99, "items": [{"id": 1}]}}, {}),
    "numbers of other things": ({"quota": {"total_hits": 99, "limit": 99}, "usage": {"total": 99}, "summary": {"total": 9999, "mean": 3}, "last_page": 1, "end": 10, "last": 4}, {}),
    "limits": ({}, {"X-RateLimit-Total-Count": "99", "X-Cache-Hits": "99", "X-Request-Count": "99", "X-Page-Size": "99", "X-Next-Update": "2030"}),
    "none left": ({"remaining_items": 0, "has_more": "0", "done": True, "more": 0}, {}),
    "time": ({"next_update": "2030-01-01", "nextRun": 5, "last_modified": "x"}, {}),
}  # fmt: skip


@pytest.mark.parametrize("name", WHOLE)
async def test_a_whole_answer_is_believed(serve: Serve, read: Read, name: str) -> None:
    words, fields = WHOLE[name]
    way = Way(beside(lambda _: words), headers=lambda _: fields)
    served = await serve(handler(way))
    reader = read(spec(served.url, way))
    assert len(await reader.scan("t")) == SIZE
    assert reader.truncated == []
    assert not reader.meter.warnings
    assert len(served.asked) == 1


async def test_signs_in_records_are_data(serve: Serve, read: Read) -> None:
    record = {
        "id": 1,
        "next": "/r?at=1",
        "has_more": True,
        "total_count": 99,
        "links": [{"rel": "next", "href": "/x"}],
    }
    for way in (
        Way(lambda _: record, selector="$"),
        Way(lambda _: [record], selector="$"),
        Way(lambda _: {"data": record}),
        Way(lambda _: {"data": {"a": record}}, selector="data.*"),
    ):
        served = await serve(handler(way))
        reader = read(spec(served.url, way))
        assert [row["id"] for row in await reader.scan("t")] == [1]
        assert reader.truncated == []
        assert len(served.asked) == 1


async def test_a_stac_search_is_followed_by_post(serve: Serve, read: Read) -> None:
    bodies: list[Any] = []

    async def answer(asked: web.Request) -> web.Response:
        body = await asked.json()
        bodies.append(body)
        page = Page(body.get("token", 0), asked)
        merged = {
            "rel": "next",
            "method": "POST",
            "href": "/search",
            "body": {"token": page.after},
            "merge": True,
        }
        whole = merged | {"merge": False, "body": {"token": page.after, "limit": 10}}
        link = merged if page.start < 20 else whole
        return web.json_response({"features": page.rows, "links": [link] if page.after is not None else []})

    served = await serve(answer)
    way = Way(lambda _: {}, selector="features", more=", method: POST, json: {limit: 10, collections: [a]}")
    reader = read(spec(served.url, way))
    assert [row["id"] for row in await reader.scan("t")] == ALL
    assert reader.truncated == []
    assert bodies[1] == {"limit": 10, "collections": ["a"], "token": 10}
    assert bodies[-1] == {"limit": 10, "token": 50}


async def test_a_link_may_turn_a_posted_question_into_a_plain_one(serve: Serve, read: Read) -> None:
    async def answer(asked: web.Request) -> web.Response:
        page = Page(int(asked.query.get("at", 0)), asked)
        assert (asked.method == "POST") is (page.start == 0)
        assert bool(await asked.read()) is (page.start == 0)
        links = [] if page.after is None else [{"rel": "next", "href": page.link(), "method": "GET"}]
        return web.json_response({"data": page.rows, "links": links})

    served = await serve(answer)
    reader = read(spec(served.url, Way(lambda _: {}, more=", method: POST, json: {a: 1}")))
    assert [row["id"] for row in await reader.scan("t")] == ALL


async def test_an_estimate_does_not_count_against_a_proven_end(serve: Serve, read: Read) -> None:
    for words in (
        {"total_count": 90, "is_count_exact": False},
        {"total_count": 40, "total_is_approximate": True},
        {"estimated_total_count": 90},
        {"total": {"value": 40, "relation": "gte"}},
    ):
        way = Way(beside(lambda page, words=words: {"next": page.link(), **words}))
        served = await serve(handler(way))
        for paginator in (
            "",
            ", paginator: json_link",
            ", paginator: {type: json_link, total_path: total_count}",
        ):
            if "total_path" in paginator and "total_count" not in words:
                continue
            reader = read(spec(served.url, way, paginator))
            assert [row["id"] for row in await reader.scan("t")] == ALL
            assert reader.truncated == []


async def test_lookups_follow_as_scans_do(serve: Serve, read: Read) -> None:
    way = FOLLOWED["DRF"]
    served = await serve(handler(way))
    lookups = (
        spec(served.url, way)
        .replace("scan: {", "lookups: [{keys: [id], ")
        .replace("'data'}}", "'data', params: {q: '{id}'}}}]")
    )
    reader = read(lookups.replace("{id: int}", "{id: int, n: int}"))
    assert len(await reader.lookup("t", 3)) == COUNT
    partial = Way(beside(lambda _: {"total_count": 99}))
    served = await serve(handler(partial))
    lookups = (
        spec(served.url, partial)
        .replace("scan: {", "lookups: [{keys: [id], ")
        .replace("'data'}}", "'data', params: {q: '{id}'}}}]")
    )
    reader = read(lookups)
    await reader.lookup("t", 3)
    assert len(reader.truncated) == 1


def test_one_list_of_conventions_serves_samples_as_well() -> None:
    for words, kind in (
        ({"total-results": COUNT, "next-cursor": "x"}, "cursor"),
        ({"nextLink": "https://h/x"}, "json_link"),
        ({"nextRecordsUrl": "/x"}, "json_link"),
    ):
        found = next(iter(guesses(Seen({}, {}, words, SIZE))))
        assert found.paginator["type"] == kind
        assert told_more(b'{"data": [], "nextRecordsUrl": "/x"}', parse_path("data")).link is not None


@pytest.mark.parametrize("field", sorted(conventions.OF_HTTP))
def test_fields_that_every_server_sends_would_speak_of_no_page(
    field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To pass over them changes nothing."""
    monkeypatch.setattr(conventions, "OF_HTTP", frozenset())
    assert conventions.header_word.__wrapped__(field) is None
