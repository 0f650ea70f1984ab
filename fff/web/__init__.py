"""HTTP: what goes over the wire, how fast, how often again, and what is never shown.

In: requests of sources.
Out: answers, or a `SourceError` that says why and after how many attempts.

    addresses   Where URLs lead: their hosts, which addresses are of private networks, and who is believed to be there.
    body        Reading a body: decompression under caps on size and ratio. The only importer of brotli.
    client      WebClient: sends requests under the limits of their hosts, tries again where that helps
    clock       Time as the web client sees it.
    gate/       How fast a host is asked: ceilings, rates, quotas, waits that it asked for.
    recording   Record and replay: exchanges written to a folder
    redaction   Exchanges without their secrets
    retry       Which answers are worth another try, and how long a server wants to be left alone.
    secrets     Secrets: found when first needed, and removed from every text that leaves FFF.
    spellings   How a secret may look when somebody repeats it
    transport   The border to the network: one request goes out, one answer comes back, read to its end.
    types       Requests, answers, and the rules of a host: plain data without behaviour worth mocking.
    validators  Answers that carried a validator

The words are explained in docs/glossary.md.
"""

from __future__ import annotations
