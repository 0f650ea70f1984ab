"""S-1 to S-11: Raman, Deshpande & Hellerstein (2003).

In: a trial.
Out: findings.

    hybrids     SteMs 2003, sections 4.5 and 4.6
    realtime    S-1, S-2 and S-4 once more on this machine's clock
    rivals      SteMs 2003, section 3.2
    sources     The sources of the SteM paper (S4, Table 3)
    spilling    SteMs 2003, section 3.1
    stems       SteMs 2003, sections 4.2 to 4.4
    storing     SteMs 2003, sections 3.5 and 6
    structures  SteMs 2003, section 3.1
    turning     SteMs 2003, section 4.6

The words are explained in docs/glossary.md.
"""
