"""What Spark calls columns without names of their own.

    names  The name of a select item, written as Spark's analyzer writes it
    shown  What is shown of functions and intervals

The words are explained in docs/glossary.md.
"""
