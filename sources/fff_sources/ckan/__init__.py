"""CKAN portals: the resources in their DataStore are tables.

search  requests to datastore_search
source  CkanSource
"""

from __future__ import annotations

from fff_sources.ckan.source import CkanSource

__all__ = ["CkanSource"]
