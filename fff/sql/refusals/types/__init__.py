"""The types of a statement's expressions, as far as its tokens tell, and what Spark says of them.

    calls         Calls of functions and casts: what is refused in them, and the kinds of what they give
    collected     What functions of arrays and maps are given, and what lambdas give
    expressions   The kinds of a statement's expressions, read off its tokens
    kinds         Kinds of types, and what Spark says of functions and operators over them
    references    What tokens stand for: columns by their types, variables of lambdas

The words are explained in docs/glossary.md.
"""
