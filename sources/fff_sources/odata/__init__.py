"""OData 4 services: entity sets are tables, and `$metadata` says which there are.

spec      what may stand in a spec
metadata  entity sets and properties out of $metadata
edm       types of properties, and values as OData literals
words     the query options of a request
source    ODataSource
"""

from __future__ import annotations

from fff_sources.odata.source import ODataSource

__all__ = ["ODataSource"]
