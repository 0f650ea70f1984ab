"""The terminal: `fff query`, `explain`, `source`, `shell` and `demo`.

    app.py      commands and options (the one importer of typer); everything else is imported by the command that runs
    query.py    one run: catalog, engine, writer, live view, interrupts, closing line, exit code
    explain.py  the plan without a request
    source.py   what the catalog holds
    shell/      statements typed one by one, over one federation
    demo.py     the bundled sources and the query over them
    params.py   `-p name=value`: text to typed values
    values.py   Arrow columns to text: how each type is written
    output.py   the result formats as writers, and where their bytes go
    table.py    results as aligned text
    live.py     the live view: a snapshot drawn as lines; groups.py and methods.py draw its tables, on grid.py
    forecast.py rates and the time left, from the snapshots before
    viewer.py   the live view on a terminal: region.py draws, keys.py reads single keys, picking.py says what they mean
    progress.py what else standard error gets: progress lines, JSON lines, the closing line
    console.py  what the terminals behind the standard streams can show

Standard output carries result bytes and nothing else; everything else goes to standard error.
"""
