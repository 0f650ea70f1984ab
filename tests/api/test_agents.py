"""The benchmark of agents: what it counts as wrong, and, slowly, that nothing is."""

from __future__ import annotations

import pytest

from benchmarks import agents


def test_a_reply_that_lacks_rows_and_does_not_say_so_is_wrong() -> None:
    truth = [(1, "a"), (1, "a"), (2, None)]
    told = {"complete": True, "missing": []}
    assert agents.judged([(2, None), (1, "a"), (1, "a")], truth, **told) == "right"
    assert agents.judged([(2, None), (1, "a")], truth, **told) == "wrong"
    assert agents.judged(truth, truth, complete=True, missing=["shop.orders"]) == "wrong"
    assert agents.judged([], truth, complete=False, missing=[]) == "wrong"
    assert agents.judged([], truth, complete=False, missing=["shop.orders"]) == "said to be incomplete"
    assert agents.judged([], truth, complete=False, missing=["x"], hurt=False) == "wrong"


def test_there_are_eighty_different_questions() -> None:
    assert len({one.sql for one in agents.questions()}) == 80
    assert agents.tokens_of('{"name": "customer 7"}') == 11


@pytest.mark.slow
@pytest.mark.spark
async def test_each_answer_is_right_or_said_to_be_incomplete() -> None:
    pytest.importorskip("mcp", reason="mcp is not installed")
    tally = await agents.run(agents.questions())
    assert not tally.wrong
    assert tally.verdicts == {"right": 50, "said to be incomplete": 30}
    assert tally.cut == 12
    assert tally.tokens < tally.beside / 5
