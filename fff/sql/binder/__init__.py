"""Names: which table, alias or column each name of a statement means.

In: a `Statement` and the catalog.
Out: scopes, sources and the select-project-join block of a SELECT; errors that underline the name.

    build_scopes      Reads the tree of queries out of a statement
    checks            What Spark would refuse in a query, told before the first request
    common_conjuncts  What all branches of an OR share
    grouping          What Spark would certainly refuse of aggregates, grouping and windows
    names             What names mean: tables of the catalog, aliases of the FROM clause, columns in reach.
    outer_query       What stands above the block
    regions           Where SELECTs and their clauses stand among the tokens
    row_bounds        How many rows of each SELECT of a statement can matter
    scopes            The queries of a statement and what they read
    select_text       Where the parts of one SELECT stand in the text
    spj_block         Builds the select-project-join block of a SELECT
    text_columns      Columns of text files that a statement compares with text

The words are explained in docs/glossary.md.
"""
