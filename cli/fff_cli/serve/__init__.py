"""`fff serve`: one federation that stays up, for many clients, over HTTP on this machine.

In: statements of clients who have a token, or who may open a socket.
Out: their rows as they are found, in a framing that says whether they are all there are.

    answers   The framings of answers, each with a last part that says whether it is whole
    client    `fff query --server`: sends a statement, writes what comes
    command   The command and its options.
    door      Where a server listens: a port of this machine, with TLS any other, or a socket file.
    hints     What errors advise, for who has no command line
    openapi   What the server understands, as an OpenAPI document
    page      The page that shows running queries
    queries   Statements of clients under way: what they asked, what they may spend, how they end.
    tokens    What a token may be, for a server and for those who ask it.
    web       The server as HTTP has it: who may ask, routes, errors.

The words are explained in docs/glossary.md.
"""
