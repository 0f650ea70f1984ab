"""What one request carries as parameters: the spec's own, keys, qualifiers, and what the paginator asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fff.catalog import Keys, Table
from fff.quals import Quals
from fff.structs import Struct
from fff.web.secrets import Secrets
from fff_sources.http import templates
from fff_sources.http.paging.paginators import Ask
from fff_sources.http.response.jsonpath import JsonPath, parse_path
from fff_sources.http.spec import spec
from fff_sources.http.tables import HttpAccess, PlannedTable


class KeyValue(Struct, frozen=True):
    """The values of one key column in a request."""

    items: list[object]
    texts: list[str]
    separator: str | None
    listed: list[object] | None = None  # in a JSON body, whatever their number

    @property
    def text(self) -> str:
        """All of them as one text."""
        return (self.separator or ",").join(self.texts)

    @property
    def sent(self) -> list[str]:
        """As parameter values: joined, or one each where nothing separates them."""
        return [self.text] if self.separator is not None else self.texts

    @property
    def json(self) -> object:
        """In a JSON body: the value, or the list of them."""
        if self.listed is not None:
            return self.listed
        if self.separator is not None:
            return self.text
        return self.items[0] if len(self.items) == 1 else list(map(templates.json_value, self.items))

    @property
    def segment(self) -> str:
        """In a URL path: each escaped, the separator not."""
        return (self.separator or ",").join(map(templates.segment, self.texts))


class SentValue(Struct, frozen=True):
    """What a request says under one name: the values of a parameter, or a value in a JSON body."""

    texts: list[str]
    json: object


def key_values(access: HttpAccess, keys: Keys) -> dict[str, KeyValue]:
    """What each key column stands for in a request for these keys."""
    separator = access.batch.separator if access.batch is not None else None
    values = {}
    for position, name in enumerate(access.keys):
        is_list = position >= access.shared
        items = [key[position] for key in (keys if is_list else keys[:1])]
        listed = None if access.batch is None else _listed(access.batch, name, items)
        texts = list(map(templates.text_of, items))
        values[name] = KeyValue(items, texts, separator if is_list else None, listed)
    for name, value in access.constants.items():
        values[name] = KeyValue([value], [templates.text_of(value)], None)
    return values


def _listed(batch: spec.Batch, name: str, items: Sequence[object]) -> list[object] | None:
    """The keys of a batch as the list that a body wants; None where it is no list of a certain shape."""
    if not batch.is_list:
        return None
    values = list(map(templates.json_value, items))
    return values if batch.each is None else [templates.fill_json(batch.each, {name: one}) for one in values]


def qualifying(table: Table, quals: Quals, declared: spec.Params) -> dict[str, SentValue]:
    """The parameters that say qualifiers, those apart that an endpoint declares as null: it does not take them."""
    named = ((table.param_of(qual), qual.value) for qual in quals)
    return {
        param: SentValue([templates.text_of(value)], templates.json_value(value))
        for param, value in named
        if param is not None and declared.get(param, "") is not None
    }


def placed(body: object, endpoint: spec.Endpoint, ask: Ask, sent: Mapping[str, SentValue]) -> object:
    """The body with what is said and asked for (by the paginator) in the places that the endpoint names."""
    for name, place in endpoint.body_paths.items():
        if name in sent:
            body = _with(body, parse_path(place).names or (), sent[name].json)
    for name, path in spec.body_places(endpoint.paginator).items():
        if name in ask.params:
            body = _with(body, path, templates.json_value(ask.values.get(name, ask.params[name])))
    return body


def beside_body(
    endpoint: spec.Endpoint, ask: Ask, sent: Mapping[str, SentValue]
) -> tuple[dict[str, list[str]], dict[str, str]]:
    """What is said and asked for as parameters: all that has no place in the body."""
    places = spec.body_places(endpoint.paginator)
    return (
        {name: one.texts for name, one in sent.items() if name not in endpoint.body_paths},
        {name: text for name, text in ask.params.items() if name not in places},
    )


def _with(body: object, path: Sequence[str], value: object) -> object:
    """A JSON value that has another one at a place, with objects made on the way; itself unchanged."""
    if not path:
        return value
    members = dict(body) if isinstance(body, Mapping) else {}
    return members | {path[0]: _with(members.get(path[0]), path[1:], value)}


def selecting(
    planned: PlannedTable, select: spec.Select | None, columns: Sequence[str]
) -> dict[str, SentValue]:
    """The parameter that names the members in which these columns are; none where one is the record itself."""
    steps = [planned.paths[column].steps[:1] for column in columns]
    if select is None or not columns or any(not top or top[0].kind != "name" for top in steps):
        return {}
    names = list(dict.fromkeys([*select.always, *(top[0].name for top in steps)]))
    if select.separator is None:
        return {select.param: SentValue(names, names)}
    joined = select.separator.join(names)
    return {select.param: SentValue([joined], joined)}


def sorting(planned: PlannedTable, sort: spec.Sort | None) -> dict[str, SentValue]:
    """The parameters that ask for the order a statement wants, if any."""
    by = planned.table.sort
    if by is None or sort is None:
        return {}
    name, text = by.removeprefix("-"), sort.descending if by.startswith("-") else sort.ascending
    there = sort.columns[name] if isinstance(sort.columns, dict) else _written(planned.paths[name])
    if text is None:
        return {}
    if sort.direction_param is not None:
        return {sort.param: SentValue([there], there), sort.direction_param: SentValue([text], text)}
    text = templates.fill_text(text, {"column": there})
    return {sort.param: SentValue([text], text)}


def _written(path: JsonPath) -> str:
    """What a source calls a member: names with dots between them."""
    return ".".join(path.names or ()) or path.text


def parameters(
    declared: spec.Params,
    values: Mapping[str, KeyValue],
    secrets: Secrets,
    sent: Mapping[str, Sequence[str]] | None = None,
    asked: Mapping[str, str] | None = None,
) -> tuple[tuple[str, str], ...]:
    """Names and values in the order in which they are sent.

    `sent` (keys and qualifiers) and `asked` (by the paginator) stand in the place of what is declared under
    the same names.
    """
    sent, asked = sent or {}, asked or {}
    pairs: list[tuple[str, str]] = []
    for name, template in declared.items():
        if template is None or name in asked or name in sent:
            continue
        for text in template if isinstance(template, list) else [template]:
            if not secrets.lacks(text):
                pairs += [(name, one) for one in _expanded(secrets.fill(text), values)]
    pairs += [(name, text) for name, texts in sent.items() for text in texts]
    return (*pairs, *asked.items())


def _expanded(template: str, values: Mapping[str, KeyValue]) -> list[str]:
    """A parameter's values: several where its template is one key column whose values nothing joins."""
    alone = [name for name in templates.names(template) if template == f"{{{name}}}"]
    if alone:
        return values[alone[0]].sent
    return [templates.fill_text(template, {name: value.text for name, value in values.items()})]
