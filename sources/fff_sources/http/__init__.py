"""What every adapter over HTTP holds as parts: questions, pages, bodies, and the spec they are told by.

In: keys and columns wanted of a table.
Out: pages of rows.

    batch_check      Whether a source really answers every key of a request for several.
    columnar         Files that hold columns: Parquet, and Arrow's two formats.
    diagnosis        What an answer that cannot be read is instead
    exchange         Questions to a source's host and its answers
    fetch            One access method carried out: from keys to requests, from answers to pages of rows.
    fingerprint      What the answers of a source depend on
    paging/          How pages follow one another, and when an answer is whole.
    portal           Data portals, whose servers describe their own tables: names, columns, types.
    request/         From keys and columns to a request
    response/        From an answer's bytes to Arrow batches.
    shaping          Records as tables want them, made of what answers have
    source           HttpSource: what the engine asks of a source, answered by these parts
    spec/            What a spec may say, checked
    tables           From a checked spec, or from what an adapter has found out, to tables
    variants         Tables that are asked for once for each value, once for each account
    templates        `{column}` in a spec's texts, filled with the values asked for

The words are explained in docs/glossary.md.
"""
