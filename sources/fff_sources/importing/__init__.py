"""Documents of other tools as specs, with a word on every field: translated, approximated or dropped.

In: an Airbyte manifest, an OpenAPI document, a HAR file, a Postman collection.
Out: YAML that `lint` takes; a fidelity report. Templates are translated, never executed.

    airbyte/   Airbyte's declarative manifests.
    counting   How much of a folder of documents can be imported
    documents  Documents to import: read within limits
    examples   Requests by example
    fidelity   What became of each field of an imported document
    har        HAR files
    openapi    OpenAPI 3 and Swagger 2
    postman    Postman collections
    translate  An imported document as a spec

The words are explained in docs/glossary.md.
"""
