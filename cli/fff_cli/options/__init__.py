"""What commands share of their options, as typed and as meant.

In: words of the command line.
Out: checked values, or an error with exit code 2.

    arguments  The options of `fff query`, `fff explain` and `fff shell`, as typed.
    cache      `--cache` and `--cache-ttl`, as `open_federation` takes them.
    checkpoint `--checkpoint` and `fff resume`: what a command was, beside what its sources have answered.
    params     `-p name=value`: text from the command line to a typed value
    recording  `--record` and `--replay`: the web client they stand for
    texts      The SQL of a command: its argument, files, or standard input.
    shared     The options that commands share. The only importer of typer.

The words are explained in docs/glossary.md.
"""
