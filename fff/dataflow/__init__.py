"""The pure core: eddy, SteMs, access modules, selection modules, constraints. No I/O, no clock, no global randomness."""
