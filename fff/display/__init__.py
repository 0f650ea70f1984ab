"""How values look where Python shows them: at its prompt, and in notebooks.

In: names of columns, rows, a closing line.
Out: text and HTML in which no value can be anything but text.

    html    tables of HTML
    counts  numbers with the word for what they count

The words are explained in docs/glossary.md.
"""
