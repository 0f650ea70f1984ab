"""Tables of Steampipe's plugins, as drafts.

In: the text of Go files.
Out: a source whose tables have columns and keys, and no request: `unfinished`.

    golang  Composite literals of Go, read without running anything
    tables  Steampipe's plugins: each table a draft, whose requests are to be written

The words are explained in docs/glossary.md.
"""
