"""Paths into JSON as Spark was seen to follow them, where that surprises; random ones are asked of Spark itself."""

from __future__ import annotations

import pyarrow as pa
import pytest

from fff.dataflow.kernels.registry import KERNELS


@pytest.mark.parametrize(
    ("text", "path", "found"),
    [
        ('{"a": "x", "a": "y"}', "$.a", "x"),
        ('{"a": null, "a": {"b": 1}}', "$.a.b", "1"),
        ('{"a": [1, 2]} and more', "$.a", "[1,2]"),
        ("{'a': '\\'q\"'}", "$.a", "'q\""),
        ('{"a": 3.10, "b": 1e7, "c": -0, "d": 1e999}', "$", '{"a":3.1,"b":1.0E7,"c":0,"d":"Infinity"}'),
        ('[{"a": "x"}, {"b": 1}]', "$[*].a", '"x"'),
        ('[{"a": "x"}, {"a": 1}]', "$[*].a", '["x",1]'),
        ('{"😀": "😀"}', "$", '{"\\uD83D\\uDE00":"\\uD83D\\uDE00"}'),
        ('["😀", 1]', "$[*]", '["😀",1]'),
        ('["\\ude00x"]', "$[0]", None),
        ('["a\\\\u00ab", "\\u001f"]', "$", '["a\\\\u00ab","\\u001F"]'),
        ('{"i": [], "i": [{"é": []}]}', "$.i[*][*]", '[] [{"é":[]}]'),
        ('{"a": 1, "b": tru}', "$.a", None),
        ("1x", "$", None),
        ('{"a": 1}', "$a", None),
    ],
)
def test_paths_lead_where_they_do_in_spark(text: str, path: str, found: str | None) -> None:
    result = KERNELS["get_json_object"]([pa.array([text, None]), pa.scalar(path)], pa.string())
    assert isinstance(result, pa.Array)
    assert result.to_pylist() == [found, None]


def test_a_path_that_is_null_leads_nowhere() -> None:
    path = pa.scalar(None, pa.string())
    result = KERNELS["get_json_object"]([pa.array(["{}"]), path], pa.string())
    assert isinstance(result, pa.Array)
    assert result.to_pylist() == [None]


def test_json_of_a_thousand_levels_is_read_and_written() -> None:
    for levels, there in ((1000, True), (1001, False)):
        text = "[" * levels + "]" * levels
        result = KERNELS["get_json_object"]([pa.array([text]), pa.scalar("$")], pa.string())
        assert isinstance(result, pa.Array)
        assert result.to_pylist() == [text if there else None]
