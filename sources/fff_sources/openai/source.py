"""OpenAISource: functions that models answer, as the engine sees them."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Sequence
from functools import partial

from fff.catalog import Keys, LookupMethod, Page, SourceAdapter, Table
from fff.errors import SourceError
from fff.functions import Proxy
from fff.functions.declared import value_name
from fff.functions.judging import ProxiedFunction
from fff.stats import AccessMeter
from fff.structs import replace
from fff_sources.adapter import SourceContext
from fff_sources.http.source import HttpSource
from fff_sources.http.spec.functions import planned_functions
from fff_sources.openai.spec import OpenAISpec, read_openai


class OpenAISource(HttpSource):
    """Functions behind an OpenAI-compatible endpoint. A proxy, where there is one, leaves to the model what it cannot tell."""

    read = staticmethod(read_openai)
    model = OpenAISpec  # for editors

    def __init__(self, declared: OpenAISpec, context: SourceContext) -> None:
        super().__init__(declared.client, context)
        functions = planned_functions(context.name, declared.requests(), self.http.max_in_flight)
        self._planned |= {name: self.http.limited(planned) for name, planned in functions.items()}
        self._nullable = {
            name for name, one in declared.functions.items() if "response_format" in one.options
        }
        proxies = {name: part.proxy.made() for name, part in declared.functions.items() if part.proxy}
        self._proxied = {name: partial(self._over, proxy) for name, proxy in proxies.items()}

    @property
    def tables(self) -> Sequence[Table]:
        """Every function."""
        return [replace(table, proxied=self._proxied.get(table.name)) for table in super().tables]

    async def lookup(
        self, table: Table, method: LookupMethod, columns: Sequence[str], keys: Keys, *, meter: AccessMeter
    ) -> AsyncGenerator[Page]:
        """What the model says. Raises SourceError where it says nothing: no NULL, which only a schema of the spec's own lets a value be."""
        value = value_name(method.keys)
        whole = value in columns and table.name not in self._nullable
        missing = len(keys)
        pages = super().lookup(table, method, columns, keys, meter=meter)
        async with contextlib.aclosing(pages):
            async for page in pages:
                empty = page.rows.column(value).null_count if whole else 0
                missing -= page.rows.num_rows - empty + len(page.unanswered)
                if not empty:
                    yield page
        if missing > 0:
            raise SourceError("the model's answer has no value", source=self.name, table=table.name)

    def _over(self, proxy: Proxy, source: SourceAdapter) -> ProxiedFunction:
        return ProxiedFunction(source, proxy, None, self.http.client.redactor.text)
