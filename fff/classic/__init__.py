"""The eddy of 2000 (Avnur & Hellerstein), as a baseline: tuple at a time, among joins that hold state, in virtual time.

It shares the routing policies with `fff.dataflow` and nothing else. What is different here is what the state modules of
2003 did away with: a pre-optimizer fixes a spanning tree and a join algorithm per edge, each join hides the tuples it has
been given from the others, and each index join has a cache of its own.

* `query`: what is asked: relations, predicates between them, selections
* `preoptimizer`: spanning tree and join algorithms; static plans are orders of its modules
* `modules`, `joins`: selections, hash and block ripple joins, index joins; finite input queues
* `eddy`: Ready and Done bits, the buffer with its priorities, routing
* `scans`: inputs, as fast as their schedule and the eddy's buffer allow
* `schedule`, `processors`: virtual time, and who works when: one shared processor, or a server for each module

Words of the paper, as used here (S1 section 2). A *synchronization barrier* is where one input must wait for another: a
merge join waits for the input whose last value was lower. A *moment of symmetry* is a barrier at which the inputs can be
swapped without touching state. Joins are reordered as units of an operator and its right input, `[⋈ T]`; an index cannot
stand before what binds it (an ordering constraint). Hash ripple and index joins are symmetric between any two tuples, a
block ripple join at each corner; only the module that fetches must be at such a moment, the others go on. What pairs of
tuples have become may meet in a third join, so all bushy trees over the joins are within reach. Hybrid hash joins block,
merge joins have barriers and ordering constraints, nested loops are rarely symmetric: they are left out, as in the paper
(section 2.2.3), which favours adaptivity over best-case performance.
"""
