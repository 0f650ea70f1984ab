"""What sources offer, and the tables that a statement may name.

In: adapters of sources (`fff_sources`), found by whoever opens a federation.
Out: a `Catalog`: which table a name means, and who reads it.

    foreign What code of others raises: in one line, and what of it is not its own doing
    names   The tables that a statement may name, of all sources
    offers  What sources offer: tables, columns, access methods

The engine knows sources only through this package. The words are explained in docs/glossary.md.
"""

from fff.catalog.names import Catalog
from fff.catalog.offers import (
    Cacheable,
    Discovering,
    Divisible,
    Key,
    KeyColumn,
    Keys,
    Listing,
    LookupMethod,
    Naming,
    Page,
    Priced,
    Prompt,
    Requirement,
    ScanMethod,
    SourceAdapter,
    Table,
)

__all__ = [
    "Cacheable",
    "Catalog",
    "Discovering",
    "Divisible",
    "Key",
    "KeyColumn",
    "Keys",
    "Listing",
    "LookupMethod",
    "Naming",
    "Page",
    "Priced",
    "Prompt",
    "Requirement",
    "ScanMethod",
    "SourceAdapter",
    "Table",
]
