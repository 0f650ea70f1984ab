"""Statements to plans.

In: bound and analysed statements.
Out: `Prepared`: blocks, where their keys come from, Spark's text; or an error before the first request.

    access_paths    How each table is reached: scans, lookups bound by constants
    block           Plans one select-project-join block
    block_order     Blocks in the making: which sources each one reads, the columns others need of it
    commands        SHOW, DESCRIBE and EXPLAIN
    engine_answer   What the engine answers by itself
    explain         Renders a prepared statement as plain text
    prepare         From the text of a statement to everything that can be known before the first request.
    recursion       Blocks that find the keys of recursive queries, level by level
    rewriting       A statement in other words, for what cannot be planned as it is written, or not without Spark
    spark_query     Writes the Spark SQL above a block
    statement       Plans statements of any shape
    top_rows        When all rows that a LIMIT takes are found before a scan has ended.

The words are explained in docs/glossary.md.
"""
