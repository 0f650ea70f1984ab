"""Sources: adapters that turn web APIs into tables, the loader of specs, and the bundled catalog.

In: spec files.
Out: a catalog of tables that the engine can read.

    adapter     What the loader hands to an adapter, and what it expects of one.
    adbc/       Databases: SQLite files and PostgreSQL servers, through ADBC
    authoring/  Help for those who write a source
    ckan/       CKAN portals: the resources in their DataStore are tables.
    datasette/  Datasette: the tables and views of SQLite databases on the web.
    demo/       The bundled demo: three loopback web sources in the shape of FEC, Demographics and Crime
    document    A spec file as plain data that remembers the line of every key
    files/      Files on the web: CSV, TSV, JSON, NDJSON and Parquet, packed with gzip or not
    graphql/    GraphQL endpoints: fields that are lists or connections are tables.
    http/       What every adapter over HTTP holds as parts
    importing/  Documents of other tools as specs, with a word on every field
    load        Which spec files there are, which adapter reads each source in them
    odata/      OData 4 services: entity sets are tables, and `$metadata` says which there are.
    openai/     Models behind an OpenAI-compatible endpoint: functions, each a prompt
    rest/       Any REST API, described in YAML.
    socrata/    Socrata portals (SODA 2): datasets are tables, and their metadata says what is in them.
    sparql/     SPARQL endpoints: a SELECT query, or a class and predicates, is a table.
    trust       Whose word a spec is: what one may use that nobody named

The words are explained in docs/glossary.md.
"""

from __future__ import annotations
