"""What stands between a source and the eddy: what other readers share, what the disk keeps, what LIMIT needs.

In: a table of a source (`fff.catalog`).
Out: pages of rows for one block: shared with others > kept on disk > no more than the first rows.

    checked        A source whose answers to lookups are checked
    disk/          Rows and coverage on disk, for later runs.
    first_rows     A scan that is read no further than LIMIT needs it
    gathering      Statements of many clients that begin in one moment wait for one another
    key_index      Rows by key: numbers for keys of any columns, rows that have one of some keys
    local          Tables that no source holds: rows spelled out, values computed for keys
    patched        A table put together of what a session holds of it, and of the rest
    remainder      What was read under other qualifiers, put together: the parts, and the rest to ask for
    semijoin_feed  Feeds: tables that no source holds
    session_cache  Sharing: what several blocks of a statement, or several statements of a session
    shared_scan    A reading: the pages of one scan or one lookup request
    stack          What stands between a block and a source, put together in one place
    table_buffer   A table buffer: what was read of one table, and how a block reads it from there.

The words are explained in docs/glossary.md.
"""
