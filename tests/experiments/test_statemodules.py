"""SteMs on a disk, unbuilt, over several tables, with eviction: whatever they do, every result is found once."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from fff_experiments.statemodules.chain import ChainRules, StoredChain, every_result
from fff_experiments.statemodules.machine import PAGE_ROWS, Machine
from fff_experiments.statemodules.partitions import PARTITIONS, Interleaving, PartitionedJoin
from fff_experiments.statemodules.tournament import TournamentSteM, sort_merge

INTERLEAVINGS = {
    "symmetric hash": Interleaving(),
    "paged": Interleaving(late=False),
    "Grace": Interleaving(0),
    "Grace in turn": Interleaving(0, in_turn=True),
    "hybrid hash": Interleaving(7),
    "often": Interleaving(0, every=13),
    "often at first": Interleaving(3, every=5, growing=1.7),
    "in order": Interleaving(0, clustered=False),
}


def keys(rng, rows, values):
    return [rng.randrange(values) for _ in range(rows)]


def pairs(tables):
    return Counter(
        (one, other)
        for one, key in enumerate(tables[0])
        for other, same in enumerate(tables[1])
        if same == key
    )


@pytest.mark.parametrize("name", INTERLEAVINGS)
def test_builds_and_probes_may_interleave_in_any_way(name):
    rng = random.Random(name)
    for _ in range(5):
        tables = [keys(rng, rng.randint(0, 150), 60) for _ in range(2)]
        join = PartitionedJoin(INTERLEAVINGS[name], rng.choice([0, 20, 100, 1000]))
        found = join.run(tables, 1e-3)
        assert Counter(found.pairs) == pairs(tables)
        assert found.times == sorted(found.times)


def test_a_join_that_has_room_touches_no_disk_and_one_that_has_not_switches():
    rng = random.Random(1)
    tables = [keys(rng, 3000, 3000) for _ in range(2)]
    roomy, tight = PartitionedJoin(Interleaving(), 6000), PartitionedJoin(Interleaving(), 2000)
    assert roomy.run(tables, 1e-3).pages == 0
    assert roomy.switched is None
    found = tight.run(tables, 1e-3)
    assert found.held <= 2001
    assert tight.switched == pytest.approx(1.0, abs=0.01), "two rows come each millisecond"
    assert found.pages > 0


def test_grace_reads_and_writes_every_row_once():
    """Of each row a page of its partition is written and read; for minimum timestamps and buffers a little less."""
    rng = random.Random(2)
    tables = [keys(rng, 4000, 4000) for _ in range(2)]
    found = PartitionedJoin(Interleaving(0), 8000).run(tables, 1e-3)
    rows = 2 * 4000 / PAGE_ROWS
    assert rows <= found.pages <= 3.5 * rows, "written, read to be probed, and read to probe"
    assert found.seeks >= 4 * PARTITIONS


def test_a_tournament_tree_writes_runs_twice_its_size_and_bounces_in_order():
    rng = random.Random(3)
    stem = TournamentSteM(Machine(), 100)
    rows = list(enumerate(keys(rng, 3000, 10_000)))
    for stamp, row in enumerate(rows, start=1):
        stem.build(stamp, row)
    assert all(run == sorted(run) for run in stem.runs)
    whole = [len(run) for run in stem.runs[:-1]]
    assert 1.7 * 100 < sum(whole) / len(whole) < 2.3 * 100
    bounced = [(row, key) for key, _, row in stem.bounced()]
    assert [key for _, key in bounced] == sorted(key for _, key in rows)
    assert sorted(bounced) == rows


def test_sort_merge_finds_every_pair_once():
    rng = random.Random(4)
    for memory in (2, 10, 60, 1000):
        tables = [keys(rng, rng.randint(1, 150), 40) for _ in range(2)]
        assert Counter(sort_merge(tables, 1e-3, memory).pairs) == pairs(tables)


RULES = {
    "built": ChainRules(),
    "unbuilt": ChainRules(unbuilt=frozenset({1}), retry=3),
    "the first unbuilt": ChainRules(unbuilt=frozenset({0}), retry=1),
    "rows that go": ChainRules(lets_go=1),
    "evicted": ChainRules(evicts=True),
}
BROKEN_RULES = {
    "no LastMatchTimeStamp": ChainRules(unbuilt=frozenset({1}), last_match=False, retry=1),
    "gone after a probe": ChainRules(unbuilt=frozenset({1}), stays=False),
    "two unbuilt": ChainRules(unbuilt=frozenset({0, 2})),
    "evicted without EOT": ChainRules(evicts=True, by_eot=False),
}


def chains(name, count=20):
    rng = random.Random(name)
    for _ in range(count):
        sizes = [rng.randint(1, 25) for _ in range(rng.choice([2, 3, 4]) if "two" not in name else 3)]
        values = rng.randint(1, 12)
        tables = [[(rng.randrange(values), rng.randrange(values)) for _ in range(size)] for size in sizes]
        order = [table for table, size in enumerate(sizes) for _ in range(size)]
        rng.shuffle(order)
        yield tables, order


@pytest.mark.parametrize("name", RULES)
def test_a_chain_finds_every_result_once_whatever_is_stored(name):
    for tables, order in chains(name):
        assert sorted(StoredChain(tables, RULES[name]).run(order).results) == every_result(tables)


def test_stems_of_two_tables_change_nothing():
    for tables, order in chains("pairs"):
        if len(tables) == 4:
            assert sorted(StoredChain(tables, ChainRules(pairs=True)).run(order).results) == every_result(
                tables
            )


@pytest.mark.parametrize("name", BROKEN_RULES)
def test_a_broken_rule_is_noticed(name):
    wrong = [
        sorted(StoredChain(tables, BROKEN_RULES[name]).run(order).results) != every_result(tables)
        for tables, order in chains(name)
    ]
    assert any(wrong)
