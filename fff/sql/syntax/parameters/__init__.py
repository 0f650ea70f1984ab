"""Values of `:name` in the SQL.

In: values of Python, or texts of a command line.
Out: typed values, and a statement's text with these written into it.

    named            Columns and functions that a text names, `IDENTIFIER(:column)`, by their plain names.
    param_types      Values of parameters that come as text, from a command line or from options
    params           Values for `:name` in the SQL: bound as typed literals, never pasted as text.

The words are explained in docs/glossary.md.
"""
