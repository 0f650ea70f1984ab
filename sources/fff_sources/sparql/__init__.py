"""SPARQL endpoints: a SELECT query, or a class and predicates, is a table.

spec     what may stand in a spec
terms    values as RDF terms, escaped
query    the text of a request: projection, keys, order, pages
source   SparqlSource
"""

from __future__ import annotations

from fff_sources.sparql.source import SparqlSource

__all__ = ["SparqlSource"]
