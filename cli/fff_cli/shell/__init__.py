"""`fff shell`: SQL typed line by line, over one federation, one Spark and one event loop for the whole session.

In: lines.
Out: results.

    commands    Commands that begin with a backslash, named as psql names them.
    completion  What the Tab key offers: commands, tables, columns of the tables named in the statement
    editor      The line editor: prompt_toolkit set up the way psql's users type
    history     Where the shell's history lives
    keywords    Words of Spark SQL that completion offers
    repl        `fff shell`: read, run, and on
    results     Where a session's results go
    session     A session: what is set, and statements run one after the other over the same federation.
    signals     Ctrl-C in a session: the running statement's, never the shell's
    text        Typed text cut into statements and commands, while it may still be unfinished

The words are explained in docs/glossary.md.
"""
