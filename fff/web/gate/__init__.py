"""How fast a host is asked: ceilings, rates, quotas, waits that it asked for.

In: requests that want to start, answers and refusals.
Out: leave to start.

    breaker             When an access method has asked a host often enough that does not answer
    concurrency         How many requests a host takes at once
    leased              The gate of a host in a task whose requests are leased
    leases              One ceiling for tasks that ask hosts side by side
    limiter             Who may send to a host now
    rate                Rates: the one a spec declares, and the one a server was seen to admit.
    rate_limit_headers  What servers tell about their quotas in headers, and what is left of one.
    turns               Whose turn it is, among those who ask side by side
    waits               How long somebody waits for leave to send, why, and when that is too long

The words are explained in docs/glossary.md.
"""
