"""What stands between a block and a source, put together in one place: shared > disk > checked, and no more than LIMIT needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fff.access.checked import open_source
from fff.access.first_rows import OrderedPrefix
from fff.access.table_buffer import SharedSource
from fff.catalog import SourceAdapter
from fff.dataflow.plan.expressions import Expr
from fff.sql.plan import FirstRows

if TYPE_CHECKING:
    from fff.access.session_cache import Lease, Use


def open_table(
    use: Use, session: Lease, first: FirstRows | None = None, predicates: Sequence[Expr] = ()
) -> SourceAdapter:
    """What a block is to read a table from.

    Its only table is what it is to be asked for: others may need more of it.

    `first` are the only rows that the block needs of a scan, of those that fulfil the predicates.
    """
    buffer = session.buffer(use.table)
    if buffer is None:
        source = open_source(use.table, use.adapter, session.disk, redact=session.redact)
    else:
        source = SharedSource(buffer, (session, use.block), session.asked, eager=use.eager)
    return source if first is None else OrderedPrefix(source, first, predicates)
