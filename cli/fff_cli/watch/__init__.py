"""`fff watch`: a statement run again and again, and what has changed of its result.

In: a statement, how often, and which columns tell rows apart.
Out: the rows that have come, gone or changed since the last whole result, also that of an earlier watch.

    changes  What two results differ in, and the last one kept for the next watch.
    command  The command and its options
    rounds   One round after the other: run, compare, tell, wait.

The words are explained in docs/glossary.md.
"""
