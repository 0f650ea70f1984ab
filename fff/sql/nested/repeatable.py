"""What comes to the same each time that it is computed, so that it may be written where it is used, as often as it is."""

from __future__ import annotations

from fff.sql.syntax.spark_functions import SPARK_FUNCTIONS
from fff.sql.syntax.statement import Node, exp

#: Functions of Spark that give another value each time, or for another order of rows or other files, or may do so.
VARYING = frozenset(
    """
    input_file_block_length input_file_block_start input_file_name java_method monotonically_increasing_id
    python_worker_logs rand randn random randstr reflect shuffle spark_partition_id try_reflect uniform uuid
    """.split()  # noqa: SIM905 - a list of words
)
_SAME = SPARK_FUNCTIONS - VARYING
#: Those of them, and of others' dialects, that the parser knows as such.
_PARSED = (exp.Rand, exp.Randn, exp.Randstr, exp.Shuffle, exp.Uniform, exp.Uuid, exp.TableSample)


def is_repeatable(node: Node) -> bool:
    """Whether nothing in an expression or a query is random, or a function that is not known."""
    return not any(
        isinstance(part, _PARSED) or (isinstance(part, exp.Anonymous) and part.name.lower() not in _SAME)
        for part in node.walk()
    )
