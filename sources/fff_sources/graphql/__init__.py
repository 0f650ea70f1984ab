"""GraphQL endpoints: fields that are lists or connections are tables.

spec      what may stand in a spec
fields    `repository(owner: "a").issues` taken apart, and selections put together
words     the document and the variables of a request
schema    what introspection tells of tables and columns
source    GraphQLSource
"""

from __future__ import annotations

from fff_sources.graphql.source import GraphQLSource

__all__ = ["GraphQLSource"]
