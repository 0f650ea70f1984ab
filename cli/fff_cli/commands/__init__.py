"""One module a command; imported when the command runs.

In: checked arguments.
Out: an exit code.

    analyze        How a run was routed, drawn from its report
    cache          `fff cache`: what is kept on disk of the answers of sources.
    demo           `fff demo`: the bundled web sources in a process of their own, and the query over them.
    experiment     `fff experiment`: re-runs the papers' experiments, which are a package of their own
    explain        `fff explain`: the plan of a query, without sending a request
    login          `fff login` and `fff logout`: what needs a person once, so that later runs need none.
    query          `fff query`: check what was asked, run it, write the result, tell how it went
    source         `fff source`: what the catalog holds, and whether a spec is right.
    source_drafts  `fff source init` and `fff source schema`
    source_import  `fff source import`
    source_trust   `fff source trust`: which specs of the working folder may use secrets.
    source_trial   `fff source test`: a spec's tests and access methods tried out, a line for each.

The words are explained in docs/glossary.md.
"""
