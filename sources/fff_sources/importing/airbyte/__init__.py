"""Airbyte's declarative manifests.

In: a manifest as data.
Out: a source with a table for each stream.

    drafts       Airbyte's declarative manifests: each stream a table
    expressions  Templates of other tools, read as references
    logins       Logins of a declarative manifest
    manifest     A declarative manifest as it is written
    paging       Paginators of a declarative manifest.
    streams      One stream of a declarative manifest

The words are explained in docs/glossary.md.
"""
