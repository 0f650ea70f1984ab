"""Functions of what is written in texts: moments by patterns, bytes by character sets, JSON, numbers by formats.

codes     Texts and bytes, masks, choices
collated  Texts of a collation
moments   Moments by patterns, of parts, and by units of time
printed   format_string
scanned   Regular expressions
table     All of them, by the nodes of the syntax tree and by name

The words are explained in docs/glossary.md.
"""
