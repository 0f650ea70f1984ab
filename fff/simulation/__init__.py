"""The real engine in virtual time: simulated sources under an event loop whose clock jumps; one seed, one run.

In: tables with latencies, stalls and failures.
Out: what happened when.

    loop      Virtual time: an event loop that never waits
    recorder  What happened when in a simulated run
    run       Runs in virtual time: one block with any policy and everything recorded
    service   What a request takes: latencies, phases, stalls, failures
    serving   Simulated tables over HTTP on loopback, on this machine's clock
    source    Tables in memory behind simulated access methods: a source as the engine knows it.

The words are explained in docs/glossary.md.
"""
