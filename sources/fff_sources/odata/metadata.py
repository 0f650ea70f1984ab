"""`$metadata` (CSDL in XML): which entity sets a service has, their keys and their properties."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fff_sources.http.response.text.markup import xml_value
from fff_sources.http.shaping import MalformedMarkupError
from fff_sources.odata.edm import Property

_MOST_BASES = 100  # types above a type; more are a circle
_UNREAD = frozenset({"Edm.Stream"})  # not in the answer


@dataclass(frozen=True)
class EntitySet:
    """A collection of entities."""

    name: str
    key: tuple[str, ...]
    properties: tuple[Property, ...]


def entity_sets(body: bytes) -> dict[str, EntitySet]:
    """The entity sets of a metadata document, by name.

    Raises MalformedMarkupError where it is none of OData 4.
    """
    document = xml_value(body)
    edmx = document.get("Edmx")
    if not isinstance(edmx, dict) or not isinstance(edmx.get("DataServices"), dict):
        raise MalformedMarkupError("it is no OData metadata document")
    version = str(edmx.get("@Version", "4.0"))
    if not version.startswith("4"):
        raise MalformedMarkupError(f"it is of OData {version}; read are 4.0 and 4.01")
    model = _Model(list(_all(edmx["DataServices"], "Schema")))
    return {entities.name: entities for entities in model.entity_sets()}


class _Model:
    """All schemas of a document, with their types by qualified name."""

    def __init__(self, schemas: list[dict[str, Any]]) -> None:
        self._schemas = schemas
        self._types: dict[str, tuple[str, dict[str, Any]]] = {}
        for schema in schemas:
            for kind in ("EntityType", "ComplexType", "EnumType", "TypeDefinition"):
                for one in _all(schema, kind):
                    for space in (schema.get("@Namespace"), schema.get("@Alias")):
                        if space and "@Name" in one:
                            self._types[f"{space}.{one['@Name']}"] = (kind, one)

    def entity_sets(self) -> Iterator[EntitySet]:
        for schema in self._schemas:
            for container in _all(schema, "EntityContainer"):
                for one in _all(container, "EntitySet"):
                    yield self._entity_set(str(one.get("@Name")), str(one.get("@EntityType")))

    def _entity_set(self, name: str, type_name: str) -> EntitySet:
        key: tuple[str, ...] = ()
        properties: dict[str, Property] = {}
        for base in self._with_bases(type_name):
            for part in _all(base, "Key"):
                key = tuple(str(ref.get("@Name")) for ref in _all(part, "PropertyRef"))
            for one in _all(base, "Property"):
                columns = self._property(one)
                if columns is not None:
                    properties[columns.name] = columns
        return EntitySet(name, tuple(part for part in key if part in properties), tuple(properties.values()))

    def _with_bases(self, type_name: str) -> list[dict[str, Any]]:
        """A type after all it is based on."""
        chain: list[dict[str, Any]] = []
        following: str | None = type_name
        while following:
            kind, properties = self._types.get(following, ("", {}))
            if kind != "EntityType":
                raise MalformedMarkupError(f"it does not define the entity type {following}")
            chain.append(properties)
            if len(chain) > _MOST_BASES:
                raise MalformedMarkupError(f"the entity type {type_name} is based on itself")
            following = properties.get("@BaseType")
        return chain[::-1]

    def _property(self, one: Mapping[str, Any]) -> Property | None:
        kind = str(one.get("@Type", "Edm.String"))
        many = kind.startswith("Collection(")
        kind = kind.removeprefix("Collection(").removesuffix(")") if many else kind
        facets = one
        what, definition = self._types.get(kind, ("", {}))
        if what == "TypeDefinition":
            kind, facets = str(definition.get("@UnderlyingType")), {**definition, **one}
        if kind in _UNREAD:
            return None
        # Enumerations are text in JSON, but their literals name the type: read them, do not ask by them.
        edm = "Edm.Enum" if what == "EnumType" else kind if kind.startswith("Edm.") else None
        return Property(
            str(one.get("@Name")), edm, many, _number(facets.get("@Precision")), _number(facets.get("@Scale"))
        )


def _all(parent: Any, name: str) -> Iterator[dict[str, Any]]:
    """The children of a name, whether they are one or several."""
    members = parent.get(name) if isinstance(parent, dict) else None
    for one in members if isinstance(members, list) else [members]:
        if isinstance(one, dict):
            yield one


def _number(facet: object) -> int | None:
    """A facet's number; None where it is absent or `variable`."""
    return int(facet) if isinstance(facet, str) and facet.isdigit() else None
