"""What sqlglot reads of the SQL of other systems, and Spark does not.

In: a parsed statement.
Out: nothing, or an error with the place underlined.

    clauses          The clauses of a query in the order of Spark's grammar
    counts           LIMIT and OFFSET with more than a number
    written_types    Types that Spark has not

The words are explained in docs/glossary.md.
"""
