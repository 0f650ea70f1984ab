"""Spark SQL's scalar functions over Arrow columns: vectorised, three-valued, and exact, errors included.

A kernel takes the arguments of a call, columns or constants, whose types the planner has made those the kernel is
written for, and gives the column of results. Rows on which Spark raises an error are NULL in it, and told apart as failures.

    arithmetic  Numbers: + - * / % div, abs
    casts       CAST and TRY_CAST
    collections/  Arrays, maps and structs, lambdas among them
    decimals    Quotients and remainders of decimals
    letters     Upper and lower case
    nested      Parts of structs, arrays and maps at known places; greatest, least
    quantities/  Lengths of time, and functions of numbers
    registry    Every kernel by its name
    rounding    round, bround, floor, ceil
    strings     Texts
    texts       How values are read from texts and written as texts
    times       Dates and moments
    values      What kernels take and give

The words are explained in docs/glossary.md.
"""
