"""How pages follow one another, and when an answer is whole.

In: answers.
Out: the next question, or the end, or what is missing.

    auto         `paginator: auto`, and no paginator
    consistency  What the pages of one reading must not do
    conventions  The conventions in which APIs tell of further pages
    counted      Pages whose places are counted, and how such a scan is shared out among several readers.
    cursors      Pages that give values for the next question: `cursor` and `keyset`.
    ends         Where the pages of a reading end, and what its answers say of more
    envelope     What an answer says, beside its records, of pages that follow
    factory      The paginator that a spec asks for, and how far its pages may go.
    links        Pages that name the next one by its URL, in the body or in the Link header.
    paginators   Page by page: each paginator says what to ask first, and what to ask after an answer.
    surroundings What is around the records of an answer: objects that speak of pages, and lists
    windows      A scan in windows: ranges of a column that are asked for apart

The words are explained in docs/glossary.md.
"""
