"""From an OpenAPI document to a draft.

In: the document.
Out: a table for each GET that answers a list.

    document  From an OpenAPI 3 document to a draft
    paging    A paginator guessed from the names of an operation's parameters and of what stands beside its
    schema    Schemas of an OpenAPI 3 document

The words are explained in docs/glossary.md.
"""
