"""Rows and coverage on disk, for later runs.

In: pages of a source, with what they cover.
Out: the same pages in a later run, while they are fresh and whole.

    changes    Rows that are on disk brought up to date by those that have come or changed since
    codec      Rows and keys as bytes.
    discretion What may not be kept on disk, because a secret of its source stands in it.
    folder     Where the cache is, and whether it may be there.
    index      The index: answers by key, bodies by request, and what is in which file
    journal    What the sources of a statement have answered, on disk before anybody acts on it
    policy     Which answers a run keeps on disk, and for how long they count as fresh.
    responses  Bodies of answers that carried a validator, packed. Implements `fff.web.validators.Memory`.
    source     A source whose answers are kept on disk
    store      The folder of the cache: what is damaged, in the way or too much is dropped
    together   Keys that were asked for together, noted before they are asked for

The words are explained in docs/glossary.md.
"""
