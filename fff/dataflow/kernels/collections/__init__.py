"""Arrays, maps and structs as Spark computes with them, whole columns at a time: over their elements, not over their rows.

    lambdas  Functions of higher order
    lists    Functions of arrays
    maps     Maps and structs
    parts    Arrays and maps as the column of their elements
    ranks    The order of values of any type

The words are explained in docs/glossary.md.
"""
