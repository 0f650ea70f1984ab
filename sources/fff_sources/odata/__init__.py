"""OData 4 services: entity sets are tables, and `$metadata` says which there are.

edm       The types of OData's entity data model
metadata  `$metadata` (CSDL in XML): which entity sets a service has, their keys and their properties.
source    ODataSource: the entity sets of a service as tables.
spec      What a spec may say of an OData source, and what is wrong with this one.
words     The query options of OData requests: `$select`, `$filter`, `$orderby`, `$count`.

The words are explained in docs/glossary.md.
"""

from __future__ import annotations

from fff_sources.odata.source import ODataSource

__all__ = ["ODataSource"]
