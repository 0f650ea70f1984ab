"""Text, tokens and trees, and what single words of Spark SQL mean.

In: the user's text.
Out: a `Statement` (text, tokens, tree), edits of it that remember where they come from, typed constants.

    aggregates       What functions do to the number of rows
    edits            Changes to the user's own text
    foreign/         What sqlglot reads of the SQL of other systems, and Spark does not
    grammar          Expressions as Spark's grammar has them
    literals         Constants of the SQL text as Python values
    only_queries     Only what reads: the kind of every node of a statement's tree decides
    parameters/      Values of `:name` in the SQL
    parse            Text to tree: one statement that is a query
    shorthands        `TABLE t` written out
    source_map       A statement's text after edits
    function_arities  How many arguments Spark's functions take.
    spark_functions  The names of Spark SQL's own functions
    strings          What Spark reads in a text between quotation marks
    statement        The one door to sqlglot: Spark's tokens and syntax trees

The words are explained in docs/glossary.md.
"""
