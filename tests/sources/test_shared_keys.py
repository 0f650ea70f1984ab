"""A list of one key column in a request, beside one value of each other."""

from __future__ import annotations

from collections.abc import Callable

from aiohttp import web

from fff.federation import Federation
from tests.sources.reading import Reader
from tests.web.serving import Serve, Served

Read = Callable[..., Reader]


def spec(url: str) -> str:
    return f"""
version: 1
sources:
  q:
    client: {{base_url: '{url}', rate_limit: {{max_concurrency: 4}}}}
    tables:
      users:
        primary_key: [site, user]
        columns: {{site: {{type: string, path: asked}}, user: string, name: string}}
        lookups: [{{keys: [site, user], batch: {{size: 3, separator: ";"}}, endpoint: "{{site}}/users/{{user}}"}}]
      sites: {{columns: {{site: string, owner: string}}, scan: {{endpoint: sites}}}}
"""


async def users(request: web.Request) -> web.Response:
    """Who is asked for, but not of which site; nobody is called `nobody`, and somebody `x;y`."""
    if request.path == "/sites":
        return web.json_response([{"site": site, "owner": owner} for site in "ab" for owner in "123"])
    site, names = request.path.strip("/").split("/users/")
    known = [name for name in ([names] if names == "x;y" else names.split(";")) if name != "nobody"]
    return web.json_response([{"user": name, "name": f"{name} of {site}"} for name in known])


def asked(served: Served) -> list[str]:
    return sorted(request.path for request in served.asked)


async def test_keys_of_one_site_go_together_and_have_their_site(serve: Serve, read: Read) -> None:
    served = await serve(users)
    keys = [("a", "1"), ("b", "1"), ("a", "2"), ("b", "nobody"), ("a", "3"), ("a", "4")]
    rows = await read(spec(served.url)).lookup("users", *keys)
    wanted = [(site, user, f"{user} of {site}") for site, user in keys if user != "nobody"]
    assert sorted(map(tuple, map(dict.values, rows))) == sorted(wanted)
    assert {"/a/users/1;2;3", "/a/users/4", "/b/users/1;nobody"} <= set(asked(served))


async def test_a_separator_counts_in_the_list_alone(serve: Serve, read: Read) -> None:
    served = await serve(users)
    reader = read(spec(served.url))
    rows = await reader.lookup("users", ("a;b", "1"), ("a;b", "2"), ("a", "x;y"))
    assert {(row["site"], row["user"]) for row in rows} == {("a;b", "1"), ("a;b", "2"), ("a", "x;y")}
    assert "/a;b/users/1;2" in asked(served)
    assert "/a/users/x;y" in asked(served)
    assert reader.unanswered == []


def test_explain_counts_the_requests_of_each_site(read: Read) -> None:
    reader = read(spec("http://127.0.0.1:9"))
    federation = Federation(reader.catalog, reader.client)

    def explain(sql: str) -> str:
        return federation.explain(federation.prepare(sql))

    listed = explain("SELECT name FROM q.users WHERE site IN ('a', 'b') AND user IN ('1', '2', '3', '4')")
    assert "users.lookup[site,user]x3: 4 requests" in listed
    joined = explain("SELECT u.name FROM q.sites s JOIN q.users u ON u.site = s.site AND u.user = s.owner")
    assert "one request per 3 distinct s.owner of the same s.site" in joined


async def test_a_forecast_counts_a_request_for_each_site(serve: Serve, read: Read) -> None:
    served = await serve(users)
    reader = read(spec(served.url))
    async with Federation(reader.catalog, reader.client) as federation:
        sites = ", ".join(f"'s{number}'" for number in range(40))
        prepared = federation.prepare(f"SELECT name FROM q.users WHERE site IN ({sites}) AND user = '1'")
        at_most = federation.forecast(prepared).requests.high
        rows = [row async for batch in federation.execute(prepared).batches() for row in batch.to_pylist()]
    assert sorted(row["name"] for row in rows) == sorted(f"1 of s{number}" for number in range(40))
    assert at_most is not None
    assert len(served.asked) == 40 <= at_most
