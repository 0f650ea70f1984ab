"""Frames of the program beside web tables: `fff.lookup` and `fff.sql`.

In: frames of Spark, pandas, polars, Arrow; the name of a table, or SQL with frames in braces.
Out: a Spark frame with the table's columns, asked for by the tasks of its job; or a result.

    asking     What one task of a lookup does
    lookup     `fff.lookup`: a Spark frame joined with a web table on the cluster
    statement  `fff.sql`: SQL that names frames in braces

The words are explained in docs/glossary.md.
"""
