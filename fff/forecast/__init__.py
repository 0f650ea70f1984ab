"""What a statement will ask of its sources, before it is run.

In: a planned statement, and what earlier runs have found of its tables.
Out: intervals of requests, seconds and money, each with what it rests on.

    estimate  Intervals of requests, seconds and money
    history   What earlier runs have found of tables: sizes, pages, different keys, seconds a request
    words     A forecast in words, and as plain data

The words are explained in docs/glossary.md.
"""
