"""Access modules at work: which keys are asked when, and what becomes of the answers (S4 section 2.1.3).

In: tuples that need a key looked up; answers, EOTs, failures.
Out: requests of keys; tuples released once their keys are answered.

    access             Access modules: scans and index lookups (S4 section 2.1.3), without their I/O.
    equivalents        Lookup methods of one table that take the same keys
    hedging            Slow and stalled lookups: races with a rival that answers the same keys (Dean &
    latency            How fast a lookup method is asked and how fast it answers
    limiter            What holds the requests of some lookup methods back together
    lookups            The lookups of a block at work
    methods            The lookup methods of a block, the requests they have under way
    parked             Parked probers: tuples waiting in front of a passive alias for the EOT of their
    scan_or_constants  Tables that constants pin and that can be scanned as well

The words are explained in docs/glossary.md.
"""
