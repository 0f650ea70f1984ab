"""Everything above the eddy: Spark SQL over the blocks' results.

In: batches of rows, a statement over views of them.
Out: an Arrow table; errors in the user's words.

    argument_types Which types of arguments Spark's functions never take, asked of Spark
    bridge         The only module that imports pyspark and py4j
    carriers       Types in which values come that Arrow has no type for.
    converters     What py4j makes of Python's values
    messages       What is told of Spark's messages
    plans          What Spark's plans tell: types, programs that would run, whether a query is over few rows
    refresh_pacer  When the live view may run the upper query again
    session        The engine's Spark: starts in a thread of its own, answers SQL over Arrow data
    spool          The rows of a block on their way to Spark
    tables         Arrow tables as pyspark can take them
    start/         The JVM behind Spark: found, started fast, ended for certain.
    temp_folders   Private temporary folders that do not stay behind

The words are explained in docs/glossary.md.
"""
