"""`fff serve --postgres-port`: for clients that speak PostgreSQL's protocol, as psql and BI tools do.

In: statements in PostgreSQL's lexical rules and Spark's SQL, and questions about the catalog.
Out: rows in its formats; what is not complete is an error, or a warning where the session said so.

    catalog      What clients ask to draw their trees of tables, answered by DuckDB over tables made for it
    commands     SET, DECLARE, FETCH, MOVE, CLOSE and COPY, read
    copying      Rows as COPY writes them
    dialect      Quotes and parameters as PostgreSQL has them, for Spark's SQL
    door         Where clients connect, and who they are
    error_codes  The SQLSTATE of errors, and of what is not whole
    parameters   What types parameters have, and their values read
    portals      Statements that a session has sent ahead, and what each answers
    session      One client: what it asks, and what it is answered
    settings     What a session has set: SET and SHOW
    values       Arrow's values in PostgreSQL's formats
    wire         The messages of the protocol

The words are explained in docs/glossary.md.
"""
