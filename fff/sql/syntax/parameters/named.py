"""Columns and functions that a text names, `IDENTIFIER('t.a')` and `IDENTIFIER(:function)(x)`, by their plain names."""

from __future__ import annotations

from collections.abc import Mapping

from fff.sql.syntax.edits import edit
from fff.sql.syntax.parse import parse_statement, written_out
from fff.sql.syntax.shorthands import plain_name
from fff.sql.syntax.source_map import Edited
from fff.sql.syntax.statement import TokenType, exp, is_marker


def with_names(sql: str, params: Mapping[str, object]) -> Edited | None:
    """The text with names where constant texts give them; None where none does. Raises QueryError.

    Tables are not named so: a statement that does is refused as soon as it is parsed. What may be a field has another name
    than plainly written: that stays as it is.
    """
    if "identifier" not in sql.lower():
        return None
    written, statement = written_out(sql), parse_statement(sql)
    tokens, edits = statement.tokens, []
    entries = statement.tree.find_all(exp.Table, exp.Subquery)
    tables = {one.lower() for entry in entries for one in (entry.name, entry.alias)}
    for at, token in enumerate(tokens[:-3]):
        called = token.token_type is TokenType.VAR and token.text.lower() == "identifier"
        opens = tokens[at + 1].token_type is TokenType.L_PAREN
        if not (called and opens) or (at and tokens[at - 1].token_type is TokenType.DOT):
            continue
        close, first = statement.closing(at + 1), tokens[at + 2]
        behind = tokens[close + 1].token_type if close + 1 < len(tokens) else None
        if behind is TokenType.DOT:
            continue  # which is a field's, and gives it another name
        text: object = first.text if first.token_type is TokenType.STRING and close == at + 3 else None
        if close == at + 4 and is_marker(tokens[at + 1], first, tokens[at + 3]):
            if tokens[at + 3].text not in params:
                continue  # which is told as a value that is missing
            text = params[tokens[at + 3].text]
        name = plain_name(text, tables) if isinstance(text, str) else None
        if name is None and behind is TokenType.L_PAREN:  # Spark would call what nobody has looked at
            message = "IDENTIFIER names a function only by a text that is its name alone"
            error = statement.unsupported(
                message, statement.span(at, close + 1), hint="write the function's name"
            )
            raise written.told(error)
        edits += [edit(statement.span(at, close + 1), name)] if name else []
    return written.edited(edits) if edits else None
