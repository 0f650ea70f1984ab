"""Arrays, maps and structs: which of Spark's functions of them the engine computes, and with which types.

functions  Functions of arrays and maps
lambdas    Functions of higher order
makers     What makes them, and what takes a part of them

The words are explained in docs/glossary.md.
"""
