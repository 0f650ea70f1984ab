"""The line editor: prompt_toolkit set up the way psql's users type. The only importer of that library."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import has_focus
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import Lexer
from prompt_toolkit.output import create_output
from prompt_toolkit.shortcuts import CompleteStyle
from prompt_toolkit.styles import Style

from fff_cli.output.console import is_terminal
from fff_cli.shell.completion import Suggestion
from fff_cli.shell.keywords import KEYWORDS
from fff_cli.shell.text import is_finished, lexemes

PROMPT, CONTINUATION = "fff> ", "...> "

_WORDS = frozenset(KEYWORDS)
_STYLE = Style.from_dict(
    {
        "sql-word": "ansiblue bold",
        "sql-string": "ansigreen",
        "sql-number": "ansicyan",
        "sql-comment": "ansibrightblack italic",
    }
)


class Editor:
    """Reads statements from the terminal. `suggest` takes the text and the cursor's offset in it."""

    def __init__(
        self, suggest: Callable[[str, int], Iterable[Suggestion]], history_file: Path | None
    ) -> None:
        history: History = InMemoryHistory() if history_file is None else _File(history_file)
        # With the result going elsewhere, what is typed is shown on standard error, as prompts and progress
        # are.
        output = create_output(sys.stdout if is_terminal(sys.stdout) else sys.stderr)
        self._session: PromptSession[str] = PromptSession(
            PROMPT,
            multiline=True,
            prompt_continuation=CONTINUATION,
            history=_Chosen(history),
            completer=_Completer(suggest),
            complete_while_typing=False,
            complete_style=CompleteStyle.MULTI_COLUMN,
            lexer=_Highlighter(),
            style=_STYLE,
            include_default_pygments_style=False,
            key_bindings=_bindings(),
            enable_suspend=True,
            enable_open_in_editor=True,
            tempfile_suffix=".sql",
            output=output,
        )

    async def read(self, begun: str = "") -> str:
        """What was typed up to the Enter that finished it, behind what is begun already.

        Raises KeyboardInterrupt for Ctrl-C, EOFError for Ctrl-D.
        """
        return await self._session.prompt_async(default=begun)


def _bindings() -> KeyBindings:
    bindings = KeyBindings()
    typing = has_focus(DEFAULT_BUFFER)

    @bindings.add("enter", filter=typing)
    def _enter(event: KeyPressEvent) -> None:
        """Run what is finished; else, or with a completion just chosen, go on typing."""
        buffer = event.current_buffer
        if buffer.complete_state is not None and buffer.complete_state.current_completion is not None:
            buffer.complete_state = None
        elif is_finished(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.newline(copy_margin=False)

    @bindings.add("escape", "enter", filter=typing)
    def _newline(event: KeyPressEvent) -> None:
        """A new line wherever the cursor is."""
        event.current_buffer.newline(copy_margin=False)

    return bindings


class _Completer(Completer):
    def __init__(self, suggest: Callable[[str, int], Iterable[Suggestion]]) -> None:
        self._suggest = suggest

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        del complete_event
        for one in self._suggest(document.text, document.cursor_position):
            yield Completion(one.text, one.start - document.cursor_position, display_meta=one.note)


class _Highlighter(Lexer):
    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        lines: list[StyleAndTextTuples] = [[]]
        end = 0
        for piece, style in _styled(document.text):
            for number, line in enumerate(piece.split("\n")):
                if number:
                    lines.append([])
                lines[-1].append((style, line))
            end += len(piece)
        return lambda number: lines[number] if number < len(lines) else []


def _styled(text: str) -> Iterator[tuple[str, str]]:
    end = 0
    for one in lexemes(text):
        yield text[end : one.start], ""
        known = one.kind != "word" or one.text.upper() in _WORDS
        yield one.text, f"class:sql-{one.kind}" if known and one.kind not in ("symbol", "name") else ""
        end = one.end
    yield text[end:], ""


class _File(FileHistory):
    """A history file that may stop being writable without a word."""

    def store_string(self, string: str) -> None:
        with contextlib.suppress(OSError):  # a full disk takes the memory of it, not the statement
            super().store_string(string)

    def load_history_strings(self) -> Iterable[str]:
        try:
            return list(super().load_history_strings())
        except OSError:
            return []


class _Chosen(History):
    """Leaves out what repeats the last entry, and what begins with a space, as shells do."""

    def __init__(self, kept: History) -> None:
        super().__init__()
        self._kept = kept

    def append_string(self, string: str) -> None:
        text = string.rstrip()
        if text and not text.startswith(" ") and self.get_strings()[-1:] != [text]:
            super().append_string(text)

    def load_history_strings(self) -> Iterable[str]:
        return self._kept.load_history_strings()

    def store_string(self, string: str) -> None:
        self._kept.store_string(string)
