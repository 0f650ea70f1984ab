"""From a sample URL to a draft: ask, guess, ask again.

In: a URL with headers.
Out: columns, keys, paginator, credentials as references.

    address      A sample URL taken apart: base URL, path, parameters, what looks like an id
    columns      Columns out of records: nested objects become columns of their own where they are small
    credentials  What proves who asks: taken out of a sample URL and its headers, sent
    drafting     From a sample URL to a draft
    form         What form an answer has, and what it holds.
    keys         Which parameters and path segments of a sample are keys
    paging       Which paginators an answer hints at, best first
    sample       A sample URL, asked
    shape        Where in an answer the records are

The words are explained in docs/glossary.md.
"""
