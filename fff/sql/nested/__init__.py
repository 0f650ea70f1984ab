"""Queries in queries that are rows for the SELECT around them: what the engine answers of them becomes a table.

In: the text of a statement, the tables of the catalog.
Out: the text with names in the places of queries, and those queries planned.

    column_types     The types of what queries in FROM make
    copied_queries   Queries of WITH, written out at each place that names them, and those that none names
    derived_tables   Queries in FROM that only choose rows and columns, merged into the SELECT around them
    key_columns      Keys that a scanned table computes, as columns of a query over it
    lateral_aliases  Names that a select list gives and uses, as what they stand for
    lateral_views    Rows that LATERAL VIEW makes, as queries in FROM
    packing          Joins that one eddy does not run among others, written as queries in FROM
    parameter_types  The types that the values of parameters should have
    pipes            Pipes, as the SELECT that they mean
    pushed_conditions  What is said of queries in FROM, said inside of them as well
    query_tables     Queries that the engine answers, as tables that other blocks scan
    repeatable       What comes to the same each time that it is computed

The words are explained in docs/glossary.md.
"""
