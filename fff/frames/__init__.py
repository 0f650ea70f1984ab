"""Frames of the program beside web tables, and web tables as frames of Spark: `fff.lookup`, `fff.read`, `fff.sql`.

In: frames of Spark, pandas, polars, Arrow; the name of a table, or SQL with frames in braces.
Out: a Spark frame with the table's columns, asked for by the tasks of its job; or a result.

    asking             What one task of a lookup does
    attempts           A task of Spark and its attempts: what it asks with, and what one before it has stored
    ceiling            One ceiling for all tasks of a session: who leases requests to them
    changes            How far a table's changes have been read: offsets of a stream
    lookup             `fff.lookup`: a Spark frame joined with a web table on the cluster
    spark_data_source  The Spark data source `fff`: `spark.read`, `spark.readStream`
    spark_filters      Conditions that Spark hands down to it
    spark_stream       What `spark.readStream.format("fff")` reads
    stages             `fff.read`: a join of several web tables, read stage by stage
    statement          `fff.sql`: SQL that names frames in braces

The words are explained in docs/glossary.md.
"""
