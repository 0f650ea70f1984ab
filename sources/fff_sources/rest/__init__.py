"""Any REST API, described in YAML.

spec       what may stand in a spec: endpoints, tables, functions; the host (client_spec), pages (paging_spec)
check, table_check    what is wrong with this one
plan       from spec to tables and access methods
source     RestSource: scans and lookups
declared   what makes sources from documents, whatever the adapter
requests, parameters    one question as one request
settings   the source as a whole: its host's rules, its secrets
reading    one access method carried out, page by page
paging     the paginator that a spec asks for
paginators, links, auto    what to ask after an answer
told_more  what an answer says of further pages in usual words
bodies     where in an answer the records are (JSON, NDJSON, CSV, XML, HTML tables, Parquet)
records    records to Arrow columns: fast, or careful
values     one value to its declared type
infer      columns from a first page
jsonpath, templates, markup, auth    what the names say
"""

from __future__ import annotations

from fff_sources.rest.source import RestSource

__all__ = ["RestSource"]
