"""HTTP: what goes over the wire, how fast, how often again, and what is never shown.

adapter ──Request──► WebClient ──► HostLimiter (one per host and credential) ──► Transport ──Response──►
                         │           pauses · concurrency · quotas · rates          Network: aiohttp and body
                         └── Redactor (secrets out of every text)                   Recorder, Replay: a folder

memory     answers that are sent again only if they have changed
message    Request, Response, HostPolicy, Credentials: plain data
limiter    who may send now, made of
crowd        how many at once: additive increase, multiplicative decrease
pace         how many a second: the declared rate, and the one a server was seen to admit
quota        what servers tell of their quotas in headers, and what is left of one
retry      which answers are worth another try, and how long to wait first
body       decompression under caps
wire       Transport, the border to the network; the one place that imports aiohttp
client     WebClient: retries, redirects, budgets, and what errors say
recording  exchanges written to a folder, and answered from it
clock      time as all of these see it
secrets    ${env:…} ${file:…} ${keyring:…}, and the Redactor
"""

from __future__ import annotations
