"""Help for those who write a source: a spec drafted from an answer or an OpenAPI document, tried out, and described for editors.

draft      what a drafted spec is made of
address    a URL taken apart: base, path, ids, secrets, parameters
shape      where in an answer the records are
columns    columns with types and paths, from records
paging     which paginators an answer hints at
sample     from a sample URL to a draft: asks, guesses, checks the guesses by asking once more
openapi    from an OpenAPI document to a draft; `openapi_schema` reads its schemas
yamltext   a draft as commented YAML
schema     a JSON Schema of spec files
trial      a catalog's access methods tried out; `evidence` reads what went over the wire meanwhile
"""

from __future__ import annotations
