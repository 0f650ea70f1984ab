"""SPARQL endpoints: a SELECT query, or a class and predicates, is a table.

query   The text of a SPARQL request
select  A table's own SELECT query: its parts, and which of its variables keys can bind where they go.
source  SparqlSource: SELECT queries as tables.
spec    What a spec may say of a SPARQL source, and what is wrong with this one.
terms   Values as RDF terms: what the grammar of SPARQL lets stand in a query, and nothing else.

The words are explained in docs/glossary.md.
"""

from __future__ import annotations

from fff_sources.sparql.source import SparqlSource

__all__ = ["SparqlSource"]
