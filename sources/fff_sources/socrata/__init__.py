"""Socrata portals (SODA 2): datasets are tables, and their metadata says what is in them.

soql    SoQL: the query parameters of Socrata requests, and values as its literals.
source  SocrataSource: the datasets of a portal as tables.

The words are explained in docs/glossary.md.
"""

from __future__ import annotations

from fff_sources.socrata.source import SocrataSource

__all__ = ["SocrataSource"]
