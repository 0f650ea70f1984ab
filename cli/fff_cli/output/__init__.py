"""Result formats and the streams behind them.

In: Arrow batches.
Out: bytes on standard output, or a file that appears when it is whole.

    adding   Results that are added to a file
    console  The terminals behind standard output and standard error
    drawing  What rich draws: tables whose columns give way, bars, trees, SQL
    failures What a result ends with that cannot be written
    files    Where results go that `-O` names
    formats  The result formats
    pager    Shows what is longer than the terminal in a pager
    readback Results in files read back, so that they can be compared
    sinks/   Databases, spreadsheets, folders
    streams  What results are called, and standard output as they come
    table    Results as aligned text: a box cut to the screen on a terminal
    values   How values are written as text

The words are explained in docs/glossary.md.
"""
