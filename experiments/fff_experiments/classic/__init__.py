"""The eddies of 2000 (Avnur & Hellerstein) and of 2003 (Deshpande, synchronous), as baselines: tuple at a time.

In: relations of real rows, a query.
Out: what happened when.

    buffer        The eddy's buffer: a priority queue with a pluggable scheme
    eddy          The eddy of 2000: tuple by tuple, among modules with finite queues, in virtual time.
    joins         Join modules: ripple joins, which hold the tuples they have been given, and index joins
    modules       Modules: what tuples are given to
    preoptimizer  The naive pre-optimizer of 2000
    processors    Who works for whom: the two resource models that the papers' experiments need.
    query         What the eddy of 2000 is asked
    scans         The inputs of an eddy.
    schedule      Virtual time: things happen at their time
    synchronous   The synchronous eddy of 2003

The words are explained in docs/glossary.md.
"""
