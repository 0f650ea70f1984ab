"""The live view: one frozen snapshot after the other, drawn as lines that fit the terminal.

In: snapshots, keys typed.
Out: lines on standard error; what the keys ask for.

    forecast   What the last seconds of a run say
    frame      The live view: one frozen snapshot drawn so that it fits the terminal
    groups     The result so far, as the live view shows it
    keys       Single keys from the terminal while a query runs
    methods    The access methods as the live view shows them
    region     Lines at the bottom of a terminal that are drawn over and vanish at the end
    selection  Which row of the live view is meant
    viewer     The live view on a terminal

The words are explained in docs/glossary.md.
"""
