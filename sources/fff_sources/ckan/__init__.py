"""CKAN portals: the resources in their DataStore are tables.

search  The parameters of `datastore_search`, and PostgreSQL's types.
source  CkanSource: the resources of a portal's DataStore as tables.

The words are explained in docs/glossary.md.
"""

from __future__ import annotations

from fff_sources.ckan.source import CkanSource

__all__ = ["CkanSource"]
