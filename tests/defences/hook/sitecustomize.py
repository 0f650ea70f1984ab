"""Takes a defence out of what is imported, in this process and in those that it starts.

`FFF_WITHOUT`, as JSON, says by module which words stand in the place of which. It has to be on `PYTHONPATH`.
"""

import importlib.machinery
import json
import os

_CHANGES = json.loads(os.environ.get("FFF_WITHOUT", "{}"))
_get_code = importlib.machinery.SourceFileLoader.get_code


def _changed(loader, name):
    changes = _CHANGES.get(name)
    if changes is None:
        return _get_code(loader, name)
    text = loader.get_data(loader.path).decode()
    for old, new in changes:
        if old not in text:
            raise AssertionError(f"{name} does not say {old!r}")
        text = text.replace(old, new)
    return compile(text, loader.path, "exec", dont_inherit=True)


importlib.machinery.SourceFileLoader.get_code = _changed
