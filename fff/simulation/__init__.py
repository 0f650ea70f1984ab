"""The real engine in virtual time: simulated sources under an event loop whose clock jumps; one seed, one run.

run        one block, or a whole statement, from its SQL to its rows
  |  core and runtime as they are: fff.dataflow, fff.runtime
source     SourceAdapter over tables in memory: scans, lookups, mirrors
  |
service    what a request takes: latencies, phases, stalls, failures; one processor for all, or a server for each
  |
loop       the clock
recorder   what happened when: the trace, results and requests over time
"""
