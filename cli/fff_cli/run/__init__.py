"""One run from the terminal: federation, Ctrl-C, progress in words, the report.

In: checked arguments.
Out: what happened, told on standard error and in the report.

    account     The account of a run in words
    descriptors Which files were open when the process began
    federation  The one place where commands meet sources and engine
    interrupts  Ctrl-C: the first stops fetching and keeps what is there, the second aborts
    loading     What is otherwise while the program is loaded
    no_pandas   Spare the command line what a library would import on its own account.
    progress    What standard error gets in words
    reports     `--report`: the accounts of the statements that ran, and of those that did not come to it.
    state       Where what outlives a run is kept that is no cache

The words are explained in docs/glossary.md.
"""
