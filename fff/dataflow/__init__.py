"""The pure core: eddy, SteMs, access modules, selection modules. No I/O, no clock, no global random numbers.

In: events of the runtime (rows arrived, a scan ended, time passed).
Out: instructions to it (ask these keys, read on, give out these rows).

    arrays      Growable NumPy arrays: the storage under columns, domains and indexes.
    columns     Arrow columns that grow at their end: the storage under SteMs and domains
    eddy        The eddy: a pure state machine that routes batches of tuples among access modules
    in_flight   What is inside an eddy right now
    kernels/    Spark SQL's scalar functions over Arrow columns
    lookups/    Access modules at work: which keys are asked when
    missing     The missing manifest: which parts of which tables the answer does not rest on
    modules     The modules of one block, and the state that the eddy's two halves share
    partial     Tuples that lack some tables' answers, as Arrow tables
    plan/       The words that eddy, policies and runtime share: pure data.
    rounds      Recursion, level by level
    routing/    Where the next batch goes, what comes of it, and who waits (ledger section 5, rules 1 to
    scans       The scans of a block at work
    statistics  What an eddy tells of itself at one moment
    store/      State Modules and what they are made of

The words are explained in docs/glossary.md.
"""
