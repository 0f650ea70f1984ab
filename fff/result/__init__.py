"""How results leave: rows, Spark's tables, partial groups, snapshots, the report.

In: rows of blocks, statistics of eddies.
Out: what the display, the API and `--report` show.

    audit/      How a run was routed, judged after the fact.
    partial/    Groups before all tables have answered, to look at; never the answer.
    doubts      What of a partial answer is in doubt, beyond what it lacks
    feeding     Rows that blocks find, on their way to the feeds of other blocks
    projection  What becomes of a block's rows on their way out
    report      The machine-readable account of a run (contract section 4).
    row_sink    Rows as the result: what the engine makes of those that blocks find
    snapshot    The picture of a statement at one moment
    spark_sink  The upper query of a statement
    statistics  Frozen pictures of running blocks: what the live view and the report read.

The words are explained in docs/glossary.md.
"""
