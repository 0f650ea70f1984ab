"""Results as more than a text: databases, spreadsheets, folders.

    databases    SQLite databases in a file
    duck         DuckDB databases
    folders      Folders of Parquet files, with partitions
    replacing    A folder in the place of another one
    spreadsheets Excel workbooks
    temporary    Temporary folders of writers
    workbooks    Rows that are added to an Excel workbook

The words are explained in docs/glossary.md.
"""
