"""Documents of other tools as specs, with a word on every field: translated, approximated or dropped.

In: manifests of Airbyte and Coral, a program with configurations of dlt, the Go files of a Steampipe plugin,
an OpenAPI document, a HAR file, a Postman collection.
Out: YAML that `lint` takes; a fidelity report. Templates are translated, never executed.

    airbyte/   Airbyte's declarative manifests.
    coral      Coral's source manifests
    counting   How much of a folder of documents can be imported
    dlt        dlt's REST sources
    documents  Documents to import: read within limits
    examples   Requests by example
    fidelity   What became of each field of an imported document
    har        HAR files
    literals   Python read without running it
    openapi    OpenAPI 3 and Swagger 2
    postman    Postman collections
    steampipe/ Tables of Steampipe's plugins, as drafts.
    translate  An imported document as a spec

The words are explained in docs/glossary.md.
"""
