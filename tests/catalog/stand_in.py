"""A host that speaks as an API's documentation says, from one small file an API: `answers/SOURCE.yaml`.

It shares nothing with the specs that it tests. What it is asked has to be documented to the letter (path, every
parameter, page size, number of keys), else it refuses: a spec that asks otherwise has no rows.

A file holds `limits` (requests and seconds, as documented) and `cases`. A case is a statement (`sql`), its `rows` or
how many there are (`count`), the variables it needs (`environ`), `headers` that each request must have, and what the
host `serves`, each by path and parameters, and by `method` and `sent` (the JSON body) or `asks` (a field of GraphQL) where that is no GET:

- `answer` (or `text` with its `type`): one answer, with `status` and `also` (headers of the answer);
- `each`: a template of a record for each key asked for in `keys` (the parameter, the member of the body, or "{keys}" in
  the path), after a `prefix` and split at `split` (a list in the body where there is none), at most `most`; in `{keys}`
  the statement names that many and one; of texts they stand at "$rows" in `text`. `named` has the records of some keys;
  `by_key`: each is the member of its key;
- `records`: so many records made of `record`, in pages. `by` says how pages are asked for: `page`, `offset`, `cursor`
  (an opaque one), `last` (the `id` of the last record), `url` (a whole one in the answer) or `link` (one in the header,
  on the last page as well where it says in `flag` whether it leads on); `at` and `size` are the parameters,
  `first` the first place (0 or 1), `most` the longest page, `reach` where the last one must end, `default` what is sent where no size is asked for; a page
  after the last one is empty, or of the status `past`.

In templates "$n" is a number of its own, "$key" the key; "$rows", "$total", "$next" (a cursor or URL), "$more", "$last", "$page",
"$pages", "$size" and "$offset" stand for themselves in `body`, which is "$rows" where nothing is said. A member
whose value is "$next?", or whose name ends in "?", is left out on the last page; one whose name ends in "!" is null.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from aiohttp import web

from fff_sources.document import read_document

ANSWERS = Path(__file__).parent / "answers"
_SIGN = re.compile(r"\$([a-z]+)\??")
_CURSOR = "c~{}~"  # as opaque as it gets


@dataclass(frozen=True)
class Case:
    """A statement over one source, and the host that has the answer."""

    source: str
    number: int
    data: dict[str, Any]

    @property
    def sql(self) -> str:
        return str(self.data["sql"]).replace("{keys}", ", ".join(map(repr, self.keys)))

    @property
    def keys(self) -> list[str]:
        """One more than fit into a request, where the statement leaves that open."""
        most = [part["most"] for part in self.data["serves"] if "each" in part and "most" in part]
        form = str(self.data.get("key", "k{}"))
        return [form.format(number) for number in range(1, (most[0] if most else 1) + 2)]

    @property
    def count(self) -> int | None:
        return len(self.keys) if self.data.get("count") == "keys" else self.data.get("count")

    def host(self) -> StandIn:
        return StandIn(self)


@cache
def told(source: str) -> dict[str, Any]:
    """What is written down about an API."""
    data: dict[str, Any] = read_document(ANSWERS / f"{source}.yaml").data
    return data


def limits(source: str) -> list[tuple[int, int]]:
    """Requests and seconds, which stand in the first line: to read all files takes seconds."""
    with (ANSWERS / f"{source}.yaml").open(encoding="utf-8") as file:
        return [(limit, per) for limit, per in json.loads(file.readline().removeprefix("limits:"))]


def count_of(source: str) -> int:
    """How many cases an API has: by the indentation, for the same reason."""
    text = (ANSWERS / f"{source}.yaml").read_text(encoding="utf-8")
    return len(re.findall("^  - ", text.partition("cases:\n")[2], re.MULTILINE))


def _left_out(key: str, value: Any) -> bool:
    """Whether a member of a template is not on the last page."""
    return value == "$next?" or key.endswith(("?", "!"))


def filled(template: Any, **signs: Any) -> Any:
    """A template with its signs replaced: by values where one stands alone, else inside of the text."""
    if isinstance(template, dict):
        last = signs.get("next") is None
        full = {
            key.rstrip("?!"): filled(value, **signs)
            for key, value in template.items()
            if not (last and _left_out(key, value))
        }
        return full | {key[:-1]: None for key in template if last and key.endswith("!")}
    if isinstance(template, list):
        return [filled(item, **signs) for item in template]
    if not isinstance(template, str):
        return template
    alone = _SIGN.fullmatch(template)
    if alone and alone[1] in signs:
        return signs[alone[1]]
    return _SIGN.sub(lambda sign: str(signs.get(sign[1], sign[0])), template)


class StandIn:
    """The host of one case. `problems` says what it was asked that nobody documents."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.problems: list[str] = []
        self.unasked = dict(enumerate(case.data["serves"]))

    async def __call__(self, asked: web.Request) -> web.Response:
        body = json.loads(await asked.text()) if asked.can_read_body else None
        why = [f"nothing is at {asked.method} {asked.raw_path} {body or ''}"]
        wanted = self.case.data.get("headers", {})
        if wrong := {name for name, text in wanted.items() if asked.headers.get(name) != text}:
            self.problems.append(f"headers {wrong} are not {wanted}")
        for number, part in enumerate(self.case.data["serves"]):
            path = re.escape(part["path"].partition("?")[0]).replace(r"\{keys\}", "(?P<keys>[^/]+)")
            place = re.fullmatch(path, asked.path)
            if asked.method != part.get("method", "GET") or place is None:
                continue
            answer = self._answer(part, asked, body, **place.groupdict())
            if isinstance(answer, web.Response):
                self.unasked.pop(number, None)
                return answer
            why.append(f"{part['path']}: {answer}")
        self.problems.append("; ".join(why))
        return web.json_response({"error": self.problems[-1]}, status=400)

    def _answer(
        self, part: dict[str, Any], asked: web.Request, body: Any, keys: str = ""
    ) -> web.Response | str:
        """What one part has to say, or why it says nothing."""
        wanted = parse_qsl(part["path"].partition("?")[2], keep_blank_values=True)
        given = list(asked.query.items())
        wanted_keys: list[str] = [keys] if keys else []
        if "each" in part:
            named, prefix = part.get("keys"), part.get("prefix", "")
            texts = [text for name, text in given if name == named and text.startswith(prefix)]
            wanted_keys += [text.removeprefix(prefix) for text in texts]
            given = [(name, text) for name, text in given if name != named]
            if not wanted_keys and isinstance(body, dict) and named in body:
                wanted_keys = body.pop(named)
            elif part.get("split"):
                wanted_keys = [key for text in wanted_keys for key in text.split(part["split"])]
            if not 0 < len(wanted_keys) <= part.get("most", len(wanted_keys)):
                return f"asked for {len(wanted_keys)} keys"
        place, size = part.get("first", 0), part.get("default", part.get("most"))
        if "records" in part:
            pages = {name: text for name, text in given if name in (part.get("at"), part.get("size"))}
            given = [(name, text) for name, text in given if name not in pages]
            size = int(pages.get(part.get("size"), size))
            place = pages.get(part.get("at"), place)
            if not 0 < size <= part["most"]:
                return f"a page of {size}"
        if sorted(given) != sorted(wanted):
            return f"parameters {given}, not {wanted}"
        if "asks" in part and not re.search(rf"[{{ ]{part['asks']}\b", body["query"]):
            return f"a query for something else than {part['asks']}"
        if part.get("sent") is not None and body != part["sent"]:
            return f"a body of {body}, not {part['sent']}"
        head = part.get("also", {})
        if "records" in part:
            return self._page(part, str(place), size, asked)
        if "each" in part:
            records = [part.get("named", {}).get(key, part["each"]) for key in wanted_keys]
            rows = [
                filled(record, key=key, n=number)
                for number, (record, key) in enumerate(zip(records, wanted_keys, strict=True), 1)
            ]
            if "text" in part:
                text = part["text"].replace("$rows", "".join(rows))
                return web.Response(text=text, content_type=part.get("type", "text/csv"), headers=head)
            found = dict(zip(wanted_keys, rows, strict=True)) if part.get("by_key") else rows
            answer = filled(part.get("body", "$rows"), rows=found, total=len(rows), next=None)
            return web.json_response(answer, headers=head)
        if "text" in part:
            kind = part.get("type", "text/csv")
            return web.Response(
                text=part["text"], content_type=kind, status=part.get("status", 200), headers=head
            )
        return web.json_response(part.get("answer"), status=part.get("status", 200), headers=head)

    def _page(self, part: dict[str, Any], place: str, size: int, asked: web.Request) -> web.Response | str:
        """Of the records, those that belong there."""
        by, first, total = part["by"], part.get("first", 0), part["records"]
        if place == str(first):
            start = 0
        elif by == "cursor":
            if not place.startswith("c~"):
                return f"no cursor was called {place}"
            start = int(place.split("~")[1])
        elif by == "last":
            ids = [filled(part["record"]["id"], n=number) for number in range(1, total + 1)]
            if place not in ids:
                return f"no record is called {place}"
            start = ids.index(place) + 1
        else:
            start = (int(place) - first) * (1 if by == "offset" else size)
        if start + size > part.get("reach", start + size):
            return f"a page up to {start + size}"
        rows = [
            filled(part["record"], n=number + 1) for number in range(max(start, 0), min(start + size, total))
        ]
        if not rows and "past" in part:
            return web.json_response({"error": "there is no such page"}, status=part["past"])
        more = start + size < total
        following = (
            _CURSOR.format(start + size) if by == "cursor" else start + size if by == "offset" else None
        )
        url = ""
        if by in ("url", "link"):
            url = following = str(asked.url.update_query({part["at"]: str(int(place) + 1)}))
        signs = {
            "rows": rows, "total": total, "next": following if more else None, "more": more, "last": not more, "size": size,
            "page": start // size + (first if isinstance(first, int) else 1), "pages": math.ceil(total / size), "offset": start, "count": len(rows),
        }  # fmt: skip
        flag = f'; {part["flag"]}="{str(more).lower()}"' if "flag" in part else ""
        head = {"Link": f'<{url}>; rel="next"{flag}'} if by == "link" and (more or flag) else {}
        also = filled(part.get("also", {}), **signs)
        head |= {name: str(value) for name, value in also.items()}
        return web.json_response(filled(part.get("body", "$rows"), **signs), headers=head)
