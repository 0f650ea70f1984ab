"""State modules as the paper has them beyond the real engine's: on a disk, unbuilt, over several tables, with eviction.

In: rows of two tables, or of a chain of tables, in order of arrival.
Out: results, each with its time or its probes; what was held, read and written.

    chain       A chain of scans through SteMs in memory: unbuilt tables, SteMs of several tables, eviction
    machine     One processor, one disk, one memory
    partitions  SteMs in hash partitions: symmetric hash, Grace, hybrid hash, and what lies between
    tournament  SteMs that sort: tournament trees, runs, and their merge

The words are explained in docs/glossary.md.
"""
