"""Any REST API, described in YAML.

spec       what may stand in a spec, and what is wrong with this one
plan       from spec to tables and access methods
source     RestSource: requests for scans and lookups
settings   the source as a whole: its host's rules, its secrets
reading    one access method carried out, page by page
paginators what to ask after an answer
bodies     where in an answer the records are (JSON, NDJSON, CSV, XML, HTML tables, Parquet)
records    records to Arrow columns: fast, or careful
values     one value to its declared type
infer      columns from a first page
jsonpath, templates, markup, auth    what the names say
"""

from __future__ import annotations

from fff_sources.rest.source import RestSource

__all__ = ["RestSource"]
