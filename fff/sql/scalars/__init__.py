"""Spark SQL's scalar expressions as the engine's: typed by Spark's rules, and only where proven equal to Spark.

argument_types  What Spark's functions refuse for its types, written by `python -m fff.spark`
clock      current_date() and now() in conditions
coercion   Which type the sides of an operator get, and casts
collections/  Functions of arrays, maps and structs, and lambdas
functions  The table of what is proven, by function and types
java       Which Java runs Spark, and what it writes
naming/    What Spark calls a column without a name of its own
numbers    Numbers as they are written
operators  + - * / % div
patterns   LIKE, RLIKE, regexp_extract, regexp_replace, split
quantities/  Intervals, and functions of numbers
translate  Nodes of the syntax tree -> typed expressions
typed      An expression with its type
words      What the nodes of the syntax tree are to Spark

The words are explained in docs/glossary.md.
"""
