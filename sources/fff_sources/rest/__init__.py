"""Any REST API, described in YAML.

source  RestSource: a source described in YAML, as the engine sees it.

The words are explained in docs/glossary.md.
"""

from __future__ import annotations

from fff_sources.rest.source import RestSource

__all__ = ["RestSource"]
