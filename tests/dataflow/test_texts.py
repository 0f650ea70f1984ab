"""What stands around a value in a text: Spark takes DEL off for some types, Java's numbers keep it."""

from __future__ import annotations

import pyarrow as pa
import pytest

from fff.dataflow.kernels import texts


@pytest.mark.parametrize("blank", ["\0", "\t", "\n", "\x1f", " "])
def test_blanks_and_control_characters_are_taken_off(blank: str) -> None:
    assert texts.read_integer(f"{blank}5{blank}", pa.int32()) == 5
    assert texts.read_double(f"{blank}1.5{blank}") == texts.read_float(f"{blank}1.5{blank}") == 1.5
    assert texts.is_decimal(f"{blank}1.5{blank}")


def test_del_is_taken_off_of_what_spark_reads_itself() -> None:
    assert texts.read_integer("\x7f5\x7f", pa.int32()) == 5
    assert texts.read_boolean("\x7ftrue") is True
    assert texts.read_date("2020-01-02\x7f") == 18263
    for text in ("\x7f1.5", "1.5\x7f", "NaN\x7f"):
        assert texts.read_double(text) is texts.read_float(text) is None
        assert not texts.is_decimal(text)
