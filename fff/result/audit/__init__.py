"""How a run was routed, judged after the fact.

In: the flow of tuples and what requests took.
Out: estimated best static order and regret, for the report.

    evidence   What a run tells of its moves and states: tuples, distinct keys, requests and seconds
    hindsight  What a run would have spent under the best static order
    report     The self-audit of a run, JSON-ready

The words are explained in docs/glossary.md.
"""
