"""O1 to O3: what routing costs where there is nothing to gain by it (Deshpande 2003).

In: a trial.
Out: findings.

    engine     What O1 to O3 run on the real engine: selections and star joins in the core, fed by hand.
    overheads  O1 to O3: what routing costs where there is nothing to gain by it (Deshpande 2003)
    plans      The plans without an eddy that O1 to O3 compare with

The words are explained in docs/glossary.md.
"""
