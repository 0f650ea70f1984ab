"""E1 to E14: the figures of Avnur & Hellerstein (2000).

In: a trial.
Out: findings.

    algorithms  E14: join algorithms for one edge in competition, in the eddy of 2000 (S1 section 6).
    delays      E10: a delayed source fools the eddy of 2000, and what SteMs do about it (S1 section 4.5.1,
    dynamics    E7 to E9: costs and selectivities that change while the query runs (S1 section 4.5, Figures
    fitted      E11: the constants that the eddies paper does not give
    joins       E5 and E6: three tables, hash ripple and index joins, one processor (S1 section 4.4,
    odds        E13: why the lottery is further from perfect routing at 10 % than at 90 % (S1 section 4.3,
    operators   E12: more operators make adapting matter more
    selections  E1 to E4: two selections under naive and lottery routing (S1 sections 4.2 and 4.3, Figures
    setups      What the experiments of the eddies paper share

The words are explained in docs/glossary.md.
"""
