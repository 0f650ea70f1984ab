"""Where the next batch goes, what comes of it, and who waits (ledger section 5, rules 1 to 4).

In: batches of tuples, the policy's choice.
Out: batches moved on, parked or found to be results.

    bounds       Inequalities between a row and the tuples that probe for it
    constraints  Where tuples may go: legal moves by TupleState, derived from the plan
    flow         What came of the routing so far
    held         Who has every match by EOT of a predicate: parts of scans that have ended
    parking      Parking: tuples that wait in front of an alias for an EOT, where they wait, and what becomes of them then.
    priorities   What the user wants to see first (R8)
    probers      Tables whose rows only probe: what need not be stored of them
    pruning      Which tuples need not wait for a lookup
    queue        The eddy's own buffer: batches waiting to be routed, prioritised ones first
    right_sides  What becomes of tuples that look for matches in the right side of a left, semi or anti join.
    router       Routing: where the next batch goes, what comes of it, who waits (ledger section 5, rules 1
    selection    Selection modules and inline predicates

The words are explained in docs/glossary.md.
"""
