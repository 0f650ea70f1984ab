"""Recordings for tests: made of a few lines, or of real answers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


def tape(folder: Path, exchanges: Iterable[Mapping[str, Any]]) -> Path:
    """Write a recording: `url` and `json` (or `text`) of each exchange, and whatever else its line shall tell."""
    (folder / "bodies").mkdir(parents=True, exist_ok=True)
    with (folder / "index.jsonl").open("w", encoding="utf-8") as index:
        for number, exchange in enumerate(exchanges, 1):
            told = dict(exchange)
            text = told.pop("text", None)
            if "json" in told:
                text = json.dumps(told.pop("json"))
            if text is not None:
                told["body"] = f"bodies/{number}.json"
                (folder / told["body"]).write_text(text, encoding="utf-8")
            line = {"id": number, "method": "GET", "status": 200, "headers": {}} | told
            index.write(json.dumps(line) + "\n")
    return folder
