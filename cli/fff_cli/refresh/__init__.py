"""`fff refresh`: a result in a file, brought up to date.

In: a file that `fff query --refreshable -O FILE` wrote, and what is remembered beside it.
Out: the file as the statement would write it now, and which of its rows have come, gone or changed.

    command    The command `fff refresh` and its options.
    remembered What is kept beside a result: its statement, and what else the result depends on.
    rerun      The statement run again, and its result compared with the one in the file.

The words are explained in docs/glossary.md.
"""
