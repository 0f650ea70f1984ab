"""Every kernel by its name."""

from __future__ import annotations

from fff.dataflow.kernels.arithmetic import ARITHMETIC
from fff.dataflow.kernels.casts import CASTS
from fff.dataflow.kernels.collections.lambdas import LAMBDAS
from fff.dataflow.kernels.collections.lists import LISTS
from fff.dataflow.kernels.collections.maps import MAPS
from fff.dataflow.kernels.collections.ranks import RANKS
from fff.dataflow.kernels.nested import NESTED
from fff.dataflow.kernels.quantities.durations import DURATIONS
from fff.dataflow.kernels.quantities.exponents import EXPONENTS
from fff.dataflow.kernels.quantities.numbers import NUMBERS
from fff.dataflow.kernels.quantities.powers import POWERS
from fff.dataflow.kernels.quantities.wide import WIDE
from fff.dataflow.kernels.rounding import ROUNDING
from fff.dataflow.kernels.strings import STRINGS
from fff.dataflow.kernels.times import TIMES
from fff.dataflow.kernels.values import Kernel
from fff.dataflow.kernels.written.codes import CODES
from fff.dataflow.kernels.written.json_texts import JSON_TEXTS
from fff.dataflow.kernels.written.marks import MARKS
from fff.dataflow.kernels.written.moments import MOMENTS
from fff.dataflow.kernels.written.printed import PRINTED
from fff.dataflow.kernels.written.scanned import SCANNED

KERNELS: dict[str, Kernel] = ARITHMETIC | ROUNDING | CASTS | STRINGS | TIMES | NESTED
KERNELS |= MOMENTS | CODES | MARKS | SCANNED | JSON_TEXTS | PRINTED
KERNELS |= LISTS | MAPS | LAMBDAS | RANKS | DURATIONS | EXPONENTS | POWERS | NUMBERS | WIDE
