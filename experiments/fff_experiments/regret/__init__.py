"""G1 to G14: what policies spend above a clairvoyant.

In: a trial.
Out: findings.

    clock       G12: two lookups on one host, and two functions with ceilings of their own
    engine      G13: the default on the real engine, in worlds of many kinds
    filters     G1 to G3: what the default policy spends above a clairvoyant, knowing nothing at the start.
    hosts       G11: lookups that share what holds them back, and lookups that do not
    memory      G9: what the memory of a past run is worth to the default policy
    parallel    G4 and G10: filters that work side by side, as web services do
    runs        Policies in worlds where every move is answered at once
    self_audit  G14: what the engine says of its own routing, against what every static order costs
    simplex     The simplex method (Dantzig; Bland's rule against cycles)
    worlds      Worlds to route tuples in, with everything a clairvoyant would know

The words are explained in docs/glossary.md.
"""
