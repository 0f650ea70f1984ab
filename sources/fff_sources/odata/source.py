"""ODataSource: the entity sets of a service as tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from fff.errors import SourceError
from fff.schema import distinct_names
from fff.stats import AccessMeter
from fff_sources.adapter import SourceContext
from fff_sources.http.response.jsonpath import JsonPath, literal_path
from fff_sources.http.shaping import MalformedMarkupError
from fff_sources.http.source import HttpSource
from fff_sources.http.tables import DiscoveredTable, HttpAccess, Question, place_of
from fff_sources.odata import metadata
from fff_sources.odata.edm import Property, edm_of
from fff_sources.odata.spec import ODataColumn, ODataSpec, ODataTable, read_odata
from fff_sources.odata.words import ODataWords

_METADATA = Question("$metadata", headers={"Accept": "application/xml"})
_NEXT_LINK = {"type": "json_link", "next_url_path": "['@odata.nextLink']"}


class ODataSource(HttpSource):
    """An OData 4 service. `$metadata` is asked for once, when a table without declared columns is needed."""

    read = staticmethod(read_odata)

    def __init__(self, declared: ODataSpec, context: SourceContext) -> None:
        super().__init__(declared.client, context)
        self._declared = declared
        self._sets: dict[str, metadata.EntitySet] | None = None
        for name, table in (declared.tables or {}).items():
            self.keep(
                self._table(name, table, _declared_set(name, table))
                if table.columns
                else DiscoveredTable(name)
            )

    @property
    def listed(self) -> bool:
        """Whether the tables are known: where the spec names some, it names all."""
        return bool(self._declared.tables) or self._sets is not None

    async def list_tables(self, *, meter: AccessMeter) -> None:
        """Every entity set, with its columns: one request tells both."""
        for name in await self._entity_sets(meter) if not self.listed else ():
            self.keep(self._table(name, ODataTable(), self._known(name, name)))

    async def discover(self, names: Collection[str], *, meter: AccessMeter) -> None:
        """The columns of declared tables that have none yet, from `$metadata`."""
        if waiting := self.without_columns(names):
            await self._entity_sets(meter)
        for name in waiting:
            table = (self._declared.tables or {})[name]
            self.keep(self._table(name, table, self._known(name, table.entity_set or name)))

    async def _entity_sets(self, meter: AccessMeter) -> Mapping[str, metadata.EntitySet]:
        if self._sets is None:
            response = await self.http.ask(_METADATA, meter=meter)
            try:
                self._sets = metadata.entity_sets(response.body)
            except (MalformedMarkupError, RecursionError) as error:
                reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
                raise self.http.problem(
                    f"$metadata cannot be read: {reason}",
                    response,
                    hint="base_url must be the root of the service",
                ) from None
        return self._sets

    def _known(self, table: str, entity_set: str) -> metadata.EntitySet:
        described = (self._sets or {}).get(entity_set)
        if described is None or not described.properties:
            raise SourceError(
                f"the service has no entity set {entity_set!r} with properties",
                source=self.name,
                table=table,
                hint=f"it has {', '.join(sorted(self._sets or {}))}",
            )
        return described

    def _table(self, name: str, table: ODataTable, entities: metadata.EntitySet) -> DiscoveredTable:
        """A table over an entity set, or over the part of it that a `filter` leaves."""
        own = table.columns or {}
        names = own or distinct_names(prop.name for prop in entities.properties)
        properties = dict(zip(names, entities.properties, strict=True))
        columns = {
            column: (own[column].type, _place(column, own[column]))
            if own
            else (prop.spark, literal_path(prop.name))
            for column, prop in properties.items()
        }
        named = {prop.name: column for column, prop in properties.items()}
        key = tuple(table.primary_key) or tuple(named[part] for part in entities.key)
        for wanted in (*key, *(table.lookups or ())):
            if wanted not in properties:
                raise SourceError(f"the entity set has no property {wanted!r}", source=self.name, table=name)
        says = table.pushdown if "pushdown" in table.model_fields_set else self._declared.pushdown
        return DiscoveredTable(
            name,
            columns,
            key,
            self._scan(name, table, entities, properties, key),
            self._lookups(table, entities, properties, key),
            table.on_bad_record,
            table.description,
            {name: prop.comparisons for name, prop in properties.items()} if says else {},
            [name for name, prop in properties.items() if says and prop.sortable(columns[name][0].lower())],
        )

    def _scan(
        self,
        name: str,
        table: ODataTable,
        entities: metadata.EntitySet,
        properties: Mapping[str, Property],
        key: tuple[str, ...],
    ) -> HttpAccess:
        paging, size, count = self._settings(table)
        if paging == "skip" and not key:
            raise SourceError(
                "pages can be counted only of an entity set with a key",
                source=self.name,
                table=name,
                hint="set paging: next_link, or name a primary_key",
            )
        skipped = paging == "skip"
        words = ODataWords(
            entities.name,
            properties,
            condition=table.filter,
            order=key if skipped else (),
            key=key,
            page_size=None if skipped else size,
            count=count,
        )
        following: dict[str, object] = dict(_NEXT_LINK)
        if skipped:
            following = {
                "type": "offset",
                "offset_param": "$skip",
                "page_size_param": "$top",
                "page_size": size,
            }
        if count:
            following["total_path"] = "['@odata.count']"
        return HttpAccess.worded(words, following, data_selector="value")

    def _lookups(
        self,
        table: ODataTable,
        entities: metadata.EntitySet,
        properties: Mapping[str, Property],
        key: tuple[str, ...],
    ) -> tuple[tuple[HttpAccess, int], ...]:
        """By every property whose values can be written exactly; by the whole key where it has several parts."""
        single = [name for name, prop in properties.items() if prop.exact]
        if table.lookups is not None:
            single = [name for name in table.lookups if properties[name].exact]
        wanted: list[tuple[str, ...]] = [(name,) for name in single]
        if len(key) > 1 and all(properties[part].exact for part in key):
            wanted.append(key)
        batch = table.batch or self._declared.batch
        size = self._settings(table)[1]
        made = []
        for keys in wanted:
            words = ODataWords(
                entities.name,
                properties,
                keys,
                table.filter,
                batch.operator if batch is not None else "in",
                page_size=size,
            )
            access = HttpAccess.worded(words, _NEXT_LINK, keys, data_selector="value")
            if batch is not None and len(keys) == 1:
                made.append((access, batch.size))
            made.append((access, 1))
        return tuple(made)

    def _settings(self, table: ODataTable) -> tuple[str, int | None, bool]:
        """Paging, page size and counting: the table's own words over the source's."""
        written = table.model_fields_set
        source = self._declared
        return (
            table.paging if "paging" in written else source.paging,
            table.page_size if "page_size" in written else source.page_size,
            table.count if "count" in written else source.count,
        )


def _declared_set(name: str, table: ODataTable) -> metadata.EntitySet:
    """An entity set as the spec declares it, so that nothing need be asked."""
    properties = tuple(_declared_property(name, column) for name, column in (table.columns or {}).items())
    return metadata.EntitySet(table.entity_set or name, (), properties)


def _place(name: str, column: ODataColumn) -> JsonPath:
    """Where a column is in an entity; what begins with @ is an annotation, whose name has dots."""
    path = column.path or name
    literal = path.startswith("@") or column.path is None
    return place_of(path, column.model_copy(update={"path": None})) if literal else place_of(name, column)


def _declared_property(name: str, column: ODataColumn) -> Property:
    """The property that a column is; one that is cut out of a property's text, or stands in a list, is asked by nothing."""
    place = _place(name, column)
    names = [step.name for step in place.steps if step.kind == "name"]
    if place.pattern is not None or len(names) < len(place.steps) or names[0].startswith("@"):
        return Property(names[0] if names else name, None)
    return Property("/".join(names), column.edm or edm_of(column.type.strip().lower()))
