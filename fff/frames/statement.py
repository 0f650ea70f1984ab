"""`fff.sql`: SQL that names frames in braces."""

from __future__ import annotations

from collections.abc import Mapping

from fff.api.blocking import connect
from fff.api.result import Result
from fff.errors import QueryError, Span
from fff.functions import SOURCE
from fff.opening import Sources, each_source
from fff.options import ConnectOptions
from fff.sql.syntax.edits import Edit, applied, edit
from fff.sql.syntax.statement import quote, tokenize


def sql(
    text: str,
    params: Mapping[str, object] | None = None,
    /,
    *,
    sources: Sources = (),
    options: ConnectOptions | None = None,
    **frames: object,
) -> Result:
    """Run one statement over web tables and frames: `fff.sql("SELECT … FROM {df} JOIN town.incomes …", df=df)`.

    A name in braces stands for the argument of that name, as a table; nothing else is formatted, values are
    parameters (`:zip`). Frames are read into this process, those of Spark collected: for large ones there is
    `fff.lookup`, which asks from the tasks of the job.

    Args:
        text: one statement of Spark SQL.
        params: values of its `:name` parameters, as for `Connection.sql`.
        sources: a spec file or folder, or several, as for `fff.connect`.
        options: those of `fff.connect`.
        **frames: of Arrow, pandas, polars or Spark, or relations of DuckDB.

    Raises:
        QueryError: the SQL is wrong, or names a frame that is not there, or leaves one out.
        UsageError: an argument is no frame, or an option is wrong.
        SourceError: a source could not be read in full, as for `Connection.sql`.
    """
    statement = with_tables(text, frames)
    with connect(*each_source(sources), **(options or {})) as connection:
        for name, frame in frames.items():
            connection.register_table(name, frame)
        return connection.sql(statement, params)


def with_tables(text: str, frames: Mapping[str, object]) -> str:
    """The statement with a table's name in the place of each name in braces. Raises QueryError."""
    tokens = tokenize(text)
    edits: list[Edit] = []
    used: set[str] = set()
    for place, token in enumerate(tokens):
        # A string that holds a brace is a longer token than its text.
        if token.text != "{" or token.end != token.start:
            continue
        after = tokens[place + 1 : place + 3]
        whole = len(after) == 2 and after[1].text == "}" and after[1].end == after[1].start
        span = Span(token.start, after[1].end + 1 if whole else token.end + 1)
        name = text[after[0].start : after[0].end + 1] if whole else ""
        if name not in frames:
            raise QueryError(
                f"{name} is no frame" if name.isidentifier() else "braces hold the name of a frame",
                sql=text,
                span=span,
                hint=f"pass it: fff.sql(…, {name}=…)"
                if name.isidentifier()
                else "values are parameters: WHERE zip = :zip, with {'zip': …} behind the SQL",
            )
        used.add(name)
        edits.append(edit(span, f"{SOURCE}.{quote(name)}"))
    if idle := sorted(frames.keys() - used):
        raise QueryError(f"the statement does not name {{{idle[0]}}}", sql=text, hint="leave the frame out")
    return applied(text, Span(0, len(text)), edits)
