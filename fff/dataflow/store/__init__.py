"""State Modules and what they are made of: rows once, numbers for keys, indexes (S4 section 2.1.4).

In: base rows as Arrow batches.
Out: row numbers of matches; whether a row is one that is here already.

    assign_domains  Domains by table and column
    code_table      Code tables: dense numbers for 64-bit codes, a whole batch at once
    domains         Domains: every value of an equality class gets a small dense integer, once
    identity        Row identity: when an arriving row is one that is here already (ledger P22).
    index           An index on one column of numbers (see `domains`): which rows have a given number.
    joint_index     An index on several columns of numbers together
    ranges          Keys that come in order: as long as they do, none of them can come twice
    sorted_runs     A column in sorted runs, for joins by inequality
    stem            SteM: the State Module of one base table (S4 section 2.1.4)

The words are explained in docs/glossary.md.
"""
