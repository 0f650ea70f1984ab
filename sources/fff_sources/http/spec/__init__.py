"""What a spec may say, checked: unknown keys, wrong kinds and wrong values are found before any request.

In: a document of plain data.
Out: models, or every mistake with its file, line and key.

    check        Reads one REST source out of a document
    client       What a spec may say of a host: credentials, limits, retries, timeouts.
    common       What the specs of adapters have in common.
    cost         What requests cost, as a spec says it of a source, a table or an access method.
    functions    Functions behind an API: each a table that is looked up by its arguments and has one row
    model        What parts of specs are made of
    paging       What a spec may say of how pages follow one another.
    parents      What is wrong with where keys are from
    settings     What a spec says of its source as a whole, in the words of those who act on it.
    spec         The REST part of a source spec, checked
    table_check  What is wrong with tables although every part of them is well-formed

The words are explained in docs/glossary.md.
"""
