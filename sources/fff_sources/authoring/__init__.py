"""Help for those who write a source: a spec drafted from an answer or an OpenAPI document, tried out, and described.

In: a URL, a document, a spec.
Out: commented YAML; what works and what does not.

    draft        What a drafted spec is made of, before it becomes YAML.
    evidence     What went over the wire while an access method was tried
    openapi/     From an OpenAPI document to a draft.
    sampling/    From a sample URL to a draft: ask, guess, ask again.
    spec_schema  A JSON Schema of spec files, for editors
    trial        A spec tried out against its server
    yamltext     A draft as commented YAML.

The words are explained in docs/glossary.md.
"""

from __future__ import annotations
