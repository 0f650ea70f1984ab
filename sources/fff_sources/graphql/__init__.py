"""GraphQL endpoints: fields that are lists or connections are tables.

fields  Fields of GraphQL as specs write them, and selection sets.
schema  What introspection tells: which fields of the query type are tables
source  GraphQLSource: lists and connections of an endpoint as tables.
spec    What a spec may say of a GraphQL source, and what is wrong with this one.
words   The document and the variables of a GraphQL request

The words are explained in docs/glossary.md.
"""

from __future__ import annotations

from fff_sources.graphql.source import GraphQLSource

__all__ = ["GraphQLSource"]
