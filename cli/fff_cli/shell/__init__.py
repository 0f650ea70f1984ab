r"""`fff shell`: SQL typed line by line, over one federation, one Spark and one event loop for the whole session.

keys ── editor ──► text ── text ──► statements and commands ── session ──► result, or error, and on it goes
                    ▲                                         └─ commands ──► \d, \o, \p …
        completion ─┘ (words, catalog)            signals: Ctrl-C is the running statement's, never the shell's

Standard input that is no terminal takes the place of the editor; the first error then ends the session.
"""
