"""OpenAISource: functions that models answer, as the engine sees them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from fff.catalog import SourceAdapter, Table
from fff.functions import Proxy
from fff.functions.judging import ProxiedFunction
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
        proxies = {name: part.proxy.made() for name, part in declared.functions.items() if part.proxy}
        self._proxied = {name: partial(self._over, proxy) for name, proxy in proxies.items()}

    @property
    def tables(self) -> Sequence[Table]:
        """Every function."""
        return [replace(table, proxied=self._proxied.get(table.name)) for table in super().tables]

    def _over(self, proxy: Proxy, source: SourceAdapter) -> ProxiedFunction:
        return ProxiedFunction(source, proxy, None, self.http.client.redactor.text)
