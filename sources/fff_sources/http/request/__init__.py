"""From keys and columns to a request: URL, parameters, headers, body, proof of who asks.

In: an endpoint, keys, qualifiers, the page wanted.
Out: a `Request`.

    assertions  Signed assertions: JSON Web Tokens.
    auth        Proof of who asks: made from a spec's `auth` when the first request needs it.
    credentials CredentialPool: several credentials, used by their quotas
    jobs        Questions that take their time: submitted, asked about, fetched
    keys        The keys of a lookup, before they are sent
    parameters  What one request carries as parameters
    requests    One question of a reading as one request: URL, parameters, headers, body
    signing     Requests that are signed one by one
    token_store Tokens that `fff login` keeps for later runs: a file for each login, for this user's eyes.
    tokens      Tokens that are fetched: from a token endpoint, with a refresh token, or by logging in.
    logins      How a person logs in: in the browser, or with a code that is typed elsewhere.

The words are explained in docs/glossary.md.
"""
