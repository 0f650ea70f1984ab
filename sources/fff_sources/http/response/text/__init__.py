"""Formats that are text.

In: the bytes of a body.
Out: cells of CSV as columns of strings; XML and tables of HTML as JSON.

    cell_types    The types that texts have: those by which they lose nothing.
    csv_quotes    Quotes in CSV: whether they stand around whole cells, and rows in which text goes on
    csv_text      CSV as text: where its rows are, and its cells as columns of strings
    html_table    Tables of HTML as records: each value in the columns and rows that its cell spans
    in_utf8       Bodies of text in UTF-8; of XML and HTML, which are read like JSON, as JSON.
    markup        XML as plain data, to be read like JSON
    others        What answers in the place of a text: pages of HTML, most of all, and errors written as JSON

The words are explained in docs/glossary.md.
"""
