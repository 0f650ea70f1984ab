"""The words that eddy, policies and runtime share: pure data.

In: nothing: `fff.sql` fills them in.
Out: plans, states, batches, moves, events and instructions.

    batch        TupleBatch: tuples of one TupleState that travel together.
    events       What the runtime tells the eddy (events) and what the eddy asks of it (instructions).
    expressions  Predicates the engine evaluates itself
    extents      What an EOT covers: sets of values by column, as conjunctions
    labels       TupleStates and moves as people read them.
    moves        Where a tuple may go, and what came of it: the words eddy and policies share.
    plan         The plan of one select-project-join block
    policy       What the eddy expects of a routing policy: choose among legal moves, learn from outcomes.
    state        TupleState: what has happened to a tuple (S4 section 2.1.1)

The words are explained in docs/glossary.md.
"""
