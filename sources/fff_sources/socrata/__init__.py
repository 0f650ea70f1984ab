"""Socrata portals (SODA 2): datasets are tables, and their metadata says what is in them.

soql    requests: `$select`, `$where`, `$order`, with values as literals
source  SocrataSource
"""

from __future__ import annotations

from fff_sources.socrata.source import SocrataSource

__all__ = ["SocrataSource"]
