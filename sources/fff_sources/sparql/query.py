"""The text of a SPARQL request: the table's own query inside one that projects, binds keys, orders and pages."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fff.catalog import Key, Keys
from fff.web.types import Response
from fff_sources.http.tables import Question
from fff_sources.sparql import terms
from fff_sources.sparql.select import KEYS, bindable, parts_of
from fff_sources.sparql.spec import SparqlColumn, SparqlTable

_RESULTS = "application/sparql-results+json"
_KNOWN = {  # prefixes that everybody knows; a spec or a query may say otherwise
    "owl": "http://www.w3.org/2002/07/owl#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "xsd": terms.XSD,
}


@dataclass(frozen=True)
class SparqlWords:
    """How one access method asks.

    Args:
        table: the table as the spec has it.
        columns: all its columns, also where the spec leaves them to be found out.
        prefixes: of the source.
        method: GET carries the query in the URL, POST in a form.
        keys: the columns whose values are asked for; none for a scan.
        order: what the pages of a scan are ordered by; None for whatever is asked, which is an order of the
            rows as well.
    """

    table: SparqlTable
    columns: Mapping[str, SparqlColumn]
    prefixes: Mapping[str, str] = field(default_factory=dict)
    method: str = "POST"
    keys: tuple[str, ...] = ()
    order: tuple[str, ...] | None = None

    def askable(self, keys: Keys) -> Sequence[Key]:
        """The keys that are terms of their columns' kinds."""
        return [
            key
            for key in keys
            if all(self._written(name, value) is not None for name, value in zip(self.keys, key, strict=True))
        ]

    def question(self, columns: Sequence[str], keys: Keys, asked: Mapping[str, str]) -> Question:
        """The request. `asked` has `limit` and `offset` where pages are asked for."""
        return self.sent(self.text(columns, keys, asked))

    def failure(self, response: Response) -> str | None:
        """An endpoint that answers a login page or XML says so by the type of its answer."""
        kind = response.headers.get("content-type", "")
        return (
            f"the answer is {kind.split(';')[0]}, not SPARQL results in JSON"
            if "xml" in kind or "html" in kind
            else None
        )

    def sent(self, text: str) -> Question:
        """A query as it goes over the wire."""
        headers = {"Accept": _RESULTS}
        if self.method == "GET":
            return Question(params=(("query", text),), headers=headers)
        return Question(headers=headers, form={"query": text})

    def text(self, columns: Sequence[str], keys: Keys = (), asked: Mapping[str, str] | None = None) -> str:
        """The query for some columns of the rows of these keys."""
        wanted = list(columns) or [*self.keys, *self.columns][:1]
        named = " ".join("?" + name for name in wanted)
        asked = asked or {}
        ends = []
        if asked:
            order = wanted if self.order is None else self.order
            ends.append(f"ORDER BY {' '.join('?' + name for name in order)}")
            ends += [f"{word.upper()} {int(number)}" for word, number in asked.items()]
        return self._around(named, keys, ends)

    def sample(self, limit: int) -> str:
        """The query for a few rows with whatever columns there are."""
        return self._around("*", (), [f"LIMIT {limit}"])

    def _around(self, named: str, keys: Keys, ends: Sequence[str]) -> str:
        own, of, query = parts_of(self.table.query or "")
        body = "\n".join(
            [f"SELECT {f'{named} {of}'.rstrip()} WHERE {{", *self._body(query, keys), "}", *ends]
        )
        return "\n".join([*self._prefixes(own, body), *([own.strip()] if own.strip() else []), body])

    def _prefixes(self, own: str, body: str) -> list[str]:
        named = {**self.prefixes} | {
            name: place for name, place in _KNOWN.items() if name not in self.prefixes
        }
        return [
            f"PREFIX {name}: <{place}>"
            for name, place in named.items()
            if (name in self.prefixes or re.search(rf"\b{name}:", body))
            and not re.search(rf"PREFIX\s+{name}:", own, re.IGNORECASE)
        ]

    def _body(self, query: str, keys: Keys) -> list[str]:
        if self.table.query is None:
            return [*self._bound(keys), *self._patterns()]
        if KEYS in query:
            inside = bindable(query, values=self._are_values).issuperset(self.keys)
            query = query.replace(KEYS, " ".join(self._bound(keys)) if inside else "")
            keys = () if inside else keys
        if not keys:
            return ["{", query, "}"]
        # A row without a value would join with every key there is.
        bound = " ".join(f"FILTER(BOUND(?{name}))" for name in self.keys)
        return [*self._bound(keys), "{ SELECT * WHERE {", "{", query, "}", bound, "} }"]

    def _patterns(self) -> list[str]:
        """The triples of a class and its predicates."""
        resource = next(name for name, column in self.columns.items() if column.predicate is None)
        lines = [f"?{resource} {self.table.class_predicate} {self.table.of_class} ."]
        for name, column in self.columns.items():
            if column.predicate is None:
                continue
            line = f"?{resource} {column.predicate} ?{name} ."
            if column.term is not None and column.term.startswith("@"):
                line += f' FILTER(LCASE(LANG(?{name})) = "{column.term[1:].lower()}")'
            # A key has a value, so its triple is there.
            lines.append(f"OPTIONAL {{ {line} }}" if column.optional and name not in self.keys else line)
        return lines

    def _bound(self, keys: Keys) -> list[str]:
        """What leaves only the rows of the keys: VALUES where the kind of term is declared, a comparison elsewhere."""
        if not keys:
            return []
        if self._are_values:
            names = " ".join("?" + name for name in self.keys)
            rows = " ".join(f"({' '.join(self._row(key))})" for key in keys)
            return [f"VALUES ({names}) {{ {rows} }}"]
        if len(self.keys) == 1:
            texts = ", ".join(self._row(key)[0] for key in keys)
            return [f"FILTER({self._compared(self.keys[0])} IN ({texts}))"]
        rows = " || ".join(
            "("
            + " && ".join(
                f"{self._compared(n)} = {t}" for n, t in zip(self.keys, self._row(key), strict=True)
            )
            + ")"
            for key in keys
        )
        return [f"FILTER({rows})"]

    @property
    def _are_values(self) -> bool:
        return all(self._kind(name) is not None for name in self.keys)

    def _kind(self, name: str) -> str | None:
        """The declared kind of a column's terms; a class's resources are IRIs, as far as anybody can ask for them."""
        column = self.columns[name]
        if column.term is None and column.predicate is None and self.table.of_class is not None:
            return "iri"
        return column.term

    def _compared(self, name: str) -> str:
        """What is compared with the keys: by value, whatever terms a column has."""
        if self._kind(name) is not None:
            return f"?{name}"
        return (
            f"<{terms.XSD}decimal>(?{name})" if terms.is_number(self.columns[name].type) else f"STR(?{name})"
        )

    def _row(self, key: Key) -> list[str]:
        return [str(self._written(name, value)) for name, value in zip(self.keys, key, strict=True)]

    def _written(self, name: str, value: object) -> str | None:
        kind = self._kind(name)
        if kind is not None:
            return terms.term(kind, value)
        if terms.is_number(self.columns[name].type):
            return terms.number(value)
        return terms.string(value) if isinstance(value, str) else None
