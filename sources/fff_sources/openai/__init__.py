"""Models behind an endpoint that speaks OpenAI's chat completions: functions of SQL, each a prompt.

source  OpenAISource: functions that models answer.
spec    What a spec may say of them, and the requests that it stands for.

The words are explained in docs/glossary.md.
"""

from __future__ import annotations

from fff_sources.openai.source import OpenAISource

__all__ = ["OpenAISource"]
