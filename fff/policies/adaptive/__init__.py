"""The default policy: optimistic lattice sampling, restarted upon change, at the prices of what is scarce.

In: what came of moves, what past runs taught.
Out: the move with the cheapest way through the lattice of states, as sampled.

    beside          Lookups beside a scan
    change_points   Change-point detection by generalised likelihood ratio
    distributions   What a policy believes of moves: fan-outs per (TupleState, move), costs per move
    lattice         The states that tuples may still come to, and the cheapest way through them.
    policy          The default: optimistic lattice sampling with restart upon change
    posterior       What is believed of every move
    prior           What past runs taught, told to a new run as if a few tuples had said it
    rival_scans     Scans of one table in competition (S4 section 3.2)
    scarcity        What is scarce: requests to pay for, and the time of whatever holds requests back
    session_memory  What the runs of a session taught
    shared_keys     How many tuples ask by one row

The words are explained in docs/glossary.md.
"""
