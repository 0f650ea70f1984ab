"""The terminal: `fff query`, `explain`, `source`, `shell`, `mcp`, `serve`, `watch`, `refresh`, `cache`, `spark`, `experiment` and `demo`.

In: what was typed.
Out: result bytes on standard output, everything else on standard error; an exit code.

    __main__   The process `fff`: from here on Ctrl-C is answered
    app        The commands and their options. What a command needs is imported when it runs.
    source_app  The commands of `fff source` and their options. What a command needs is imported when it runs.
    spark_app  The commands of `fff spark`: the Spark that stays up between commands
    telling    How a command's errors reach whoever typed it
    commands/  One module a command; imported when the command runs.
    live/      The live view: one frozen snapshot after the other, drawn as lines that fit the terminal.
    mcp/       `fff mcp`: SQL over web sources for agents, by the Model Context Protocol.
    options/   What commands share of their options, as typed and as meant.
    output/    Result formats and the streams behind them.
    postgres/  `fff serve --postgres-port`: for clients that speak PostgreSQL's protocol.
    refresh/   `fff refresh`: a result in a file, brought up to date.
    run/       One run from the terminal: federation, Ctrl-C, progress in words, the report.
    serve/     `fff serve`: one federation that stays up, for many clients, over HTTP on this machine.
    shell/     `fff shell`: SQL typed line by line, over one federation
    watch/     `fff watch`: a statement run again and again, and what has changed of its result.

The words are explained in docs/glossary.md.
"""
