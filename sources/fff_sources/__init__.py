"""Sources: adapters that turn web APIs into tables, the loader of specs, and the bundled catalog.

load       which spec files there are, and which adapter reads each source in them
document   a spec file as data that remembers its line numbers
rest/      any REST API described in YAML
demo/      the bundled demo servers
catalog/   bundled specs (YAML only)
"""

from __future__ import annotations
