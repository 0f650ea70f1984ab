"""What became of each field of an imported document: translated, approximated or dropped."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Outcome = Literal["translated", "approximated", "dropped"]


@dataclass(frozen=True)
class FidelityNote:
    """One field. `incomplete`: rows may be missing because of it, so that the table says `exhaustive: false`."""

    table: str  # empty: of the whole source
    field: str
    outcome: Outcome
    note: str = ""
    incomplete: bool = False


@dataclass
class FidelityReport:
    """Notes on every field, and the tables that could not be written at all, each with the reason."""

    format: str
    origin: str
    notes: list[FidelityNote] = field(default_factory=list)
    written: dict[str, str] = field(default_factory=dict)  # table of the document -> source.table
    left_out: dict[str, str] = field(default_factory=dict)  # table of the document -> why
    variables: list[str] = field(default_factory=list)  # environment variables that must be set

    def add(
        self, table: str, name: str, outcome: Outcome, note: str = "", *, incomplete: bool = False
    ) -> None:
        """Note what became of a field."""
        one = FidelityNote(table, name, outcome, note, incomplete)
        if one not in self.notes:
            self.notes.append(one)

    def leave_out(self, table: str, why: str) -> None:
        """Note that a table is not in the spec."""
        self.left_out[table] = why
        self.written.pop(table, None)

    def without_login(self) -> set[str]:
        """Sources whose login could not be translated."""
        named = {
            one.table
            for one in self.notes
            if one.outcome == "dropped" and one.field.endswith("authenticator")
        }
        return {self.written[name].partition(".")[0] for name in named if name in self.written}

    def may_miss_rows(self, table: str) -> list[FidelityNote]:
        """What may make answers of a table incomplete."""
        return [one for one in self.notes if one.table == table and one.incomplete]

    def counted(self, table: str) -> Counter[str]:
        """How many fields of a table had which outcome."""
        return Counter(one.outcome for one in self.notes if one.table == table)

    def as_json(self) -> dict[str, Any]:
        """All of it, for programs."""
        return {
            "version": 1,
            "format": self.format,
            "origin": self.origin,
            "tables": [
                {
                    "name": name,
                    "written_as": written,
                    "exhaustive": not self.may_miss_rows(name),
                    "fields": [_field(one) for one in self.notes if one.table == name],
                }
                for name, written in self.written.items()
            ],
            "source": [_field(one) for one in self.notes if not one.table],
            "left_out": [{"name": name, "reason": why} for name, why in self.left_out.items()],
            "variables": self.variables,
        }

    def lines(self) -> list[str]:
        """What somebody should read: all that is not simply translated."""
        notes = [
            f"{one.table or 'source'}: {one.field} {one.outcome}: {one.note}"
            + (" (rows may be missing: exhaustive: false)" if one.incomplete else "")
            for one in self.notes
            if one.outcome != "translated" and (not one.table or one.table in self.written)
        ]
        return notes + [f"{name}: left out: {why}" for name, why in self.left_out.items()]


def shown(text: object) -> str:
    """A text as messages quote it: one line, not all of a long one."""
    line = " ".join("".join(char if char.isprintable() else " " for char in str(text)).split())
    return line if len(line) <= 80 else line[:77] + "…"


def _field(note: FidelityNote) -> dict[str, Any]:
    return {name: part for name, part in asdict(note).items() if name != "table"}
