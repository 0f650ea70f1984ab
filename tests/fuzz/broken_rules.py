"""The rules of the reference, broken one at a time: what an instance needs for each of them to matter."""

from __future__ import annotations

from fff.structs import replace
from tests.fuzz.broken import CHAINS, COMPETING, CYCLES, FLOATS, SELF_JOINS, WIDE
from tests.fuzz.broken_right_sides import RIGHT

CASES = 600  # within so many cases every broken rule is noticed; most within ten

#: What an instance needs for a rule to matter; rules not named here matter in plain instances.
RULE_KNOBS = {
    "ties_match": SELF_JOINS,
    "ties_lost": SELF_JOINS,
    "release_early": CHAINS,
    "premature_eot": CHAINS,
    "forget_parked": CHAINS,
    "leak_parked": CHAINS,
    "eot_overclaim": replace(CHAINS, aliases=(3,), typed=0.0),
    "set_dedup": COMPETING,
    "no_dedup": COMPETING,
    "occurrence_by_page": COMPETING,
    "nan_differs": FLOATS,
    "zeros_differ": FLOATS,
    "forget_class": CYCLES,
    "forget_wide": WIDE,
    "failure_is_end": CHAINS,
    "absent_so_far": RIGHT,
    "absent_in_flight": replace(RIGHT, scannable=0.0),
    "absent_after_failure": replace(RIGHT, scannable=0.0),
    "absent_twice": RIGHT,
    "absent_though_matched": RIGHT,
    "semi_every_match": RIGHT,
    "anti_goes_first": RIGHT,
    "where_in_on": RIGHT,
    "on_in_where": RIGHT,
}
FAILING = ("failure_is_end", "absent_after_failure")
