"""CAST and TRY_CAST under ANSI rules: what does not fit fails, or is NULL for TRY_CAST."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fff.dataflow.arrays import Bools
from fff.dataflow.kernels import texts
from fff.dataflow.kernels.collections.parts import Parts, made, made_map
from fff.dataflow.kernels.values import Kernel, Partial, Value, failing, over_unique
from fff.dataflow.kernels.written.doubles import digits_of, write_floats
from fff.schema import MOST_DIGITS, ArrowType, result_field

_SECOND, _DAY = 1_000_000, 86_400_000_000
#: A moment is so many days from 1970 at most.
_MOST_DAYS = (2**63 - 1) // _DAY

#: More digits than a double is written with; ten to this power is a whole number of 64 bits.
_MOST_TENS = 18


def _cast(args: Sequence[Value], kind: ArrowType) -> Value | Partial:
    [value] = args
    assert isinstance(value, pa.Array)
    result, bad = _converted(value, kind)
    if bad is None:
        return result
    type_name = result_field("", value.type).type.upper()
    wanted = result_field("", kind).type.upper()

    def tell(row: int) -> str:
        one = value.slice(row, 1)
        dated = pa.types.is_temporal(value.type)  # of which Python may have none
        shown = (_from_moment(one, pa.string())[0] if dated else one)[0].as_py()
        too_great = pa.types.is_decimal(kind) and texts.is_decimal(str(shown))
        if pa.types.is_string(value.type) and not too_great:
            return (
                f'[CAST_INVALID_INPUT] The value \'{shown}\' of the type "{type_name}" cannot be cast to "{wanted}" '
                "because it is malformed. Correct the value as per the syntax, or change its target type. "
                "Use `try_cast` to tolerate malformed input and return NULL instead."
            )
        if too_great and pa.types.is_string(value.type) and texts.is_beyond_decimals(str(shown)):
            return (
                f"[NUMERIC_OUT_OF_SUPPORTED_RANGE] The value {shown} cannot be interpreted as a numeric since it has "
                f"more than {MOST_DIGITS} digits."
            )
        if pa.types.is_decimal(kind):
            return (
                f"[NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION] The value {shown} cannot be represented as "
                f"Decimal({kind.precision}, {kind.scale})."
            )
        return (
            f'[CAST_OVERFLOW] The value {shown} of the type "{type_name}" cannot be cast to "{wanted}" due to an overflow. '
            "Use `try_cast` to tolerate overflow and return NULL instead."
        )

    return failing(result, pa.array(bad), tell)


def _try_cast(args: Sequence[Value], kind: ArrowType) -> Value | Partial:
    result = _cast(args, kind)
    return result.values if isinstance(result, Partial) else result


def _converted(value: pa.Array, kind: ArrowType) -> tuple[pa.Array, Bools | None]:
    """The values in the other type, and which of them it cannot hold, if there may be such."""
    from_type = value.type
    if pa.types.is_nested(from_type):
        return _in_parts(value, kind), None
    if pa.types.is_string(from_type):
        return _from_text(value, kind)
    if pa.types.is_boolean(from_type):
        return _from_boolean(value, kind), None
    if pa.types.is_date32(from_type) or pa.types.is_timestamp(from_type):
        return _from_moment(value, kind)
    if pa.types.is_boolean(kind):
        return pc.not_equal(value, pa.scalar(0, from_type)), None
    if pa.types.is_decimal(from_type):
        return _from_decimal(value, kind)
    if pa.types.is_integer(from_type):
        return _from_integer(value, kind)
    return _from_float(value, kind)


def _in_parts(value: pa.Array, kind: ArrowType) -> pa.Array:
    """Arrays, maps and structs with each part cast, none of which fails."""
    if value.type == kind:
        return value
    if pa.types.is_null(value.type):
        return pa.nulls(len(value), kind)
    if pa.types.is_struct(kind):
        parts = [_part(one, field.type) for one, field in zip(value.flatten(), kind, strict=True)]
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=pc.is_null(value))
    if pa.types.is_map(kind):
        keys, values = Parts.of_map(value)
        parts = [_part(keys.values, kind.key_type), _part(values.values, kind.item_type)]
        return made_map(parts[0], parts[1], keys.lengths, keys.valid, kind)
    items = Parts.of(value)
    return made(_part(items.values, kind.value_type), items.lengths, items.valid, kind)


def _part(value: pa.Array, kind: ArrowType) -> pa.Array:
    if pa.types.is_nested(kind) or value.type == kind or pa.types.is_null(value.type):
        return _in_parts(value, kind)
    result, _ = _converted(value, kind)
    return result


def _from_text(value: pa.Array, kind: ArrowType) -> tuple[pa.Array, Bools | None]:
    if pa.types.is_binary(kind):
        return value.cast(kind), None

    def read(one: pa.Array) -> pa.Array:
        parsed = [None if text is None else _read(text, kind) for text in one.to_pylist()]
        if pa.types.is_date32(kind):
            return pa.array(parsed, pa.int32()).view(kind)
        return (
            pa.array(parsed, pa.int64()).view(kind) if pa.types.is_timestamp(kind) else pa.array(parsed, kind)
        )

    result = over_unique(value, read)
    return result, _true(pc.and_(pc.is_valid(value), pc.is_null(result)))


def _read(text: str, kind: ArrowType) -> object:
    if pa.types.is_integer(kind):
        return texts.read_integer(text, kind)
    if pa.types.is_boolean(kind):
        return texts.read_boolean(text)
    if pa.types.is_date32(kind):
        return texts.read_date(text)
    if pa.types.is_timestamp(kind):
        return texts.read_moment(text)
    if pa.types.is_decimal(kind):
        return texts.read_decimal(text, kind)
    return texts.read_float(text) if pa.types.is_float32(kind) else texts.read_double(text)


def _from_boolean(value: pa.Array, kind: ArrowType) -> pa.Array:
    if pa.types.is_string(kind):
        return pc.if_else(value, "true", "false")
    if pa.types.is_decimal(kind):
        return pc.if_else(value, pa.scalar(Decimal(1), kind), pa.scalar(Decimal(0), kind))
    return value.cast(kind)


def _from_moment(value: pa.Array, kind: ArrowType) -> tuple[pa.Array, Bools | None]:
    days = pa.types.is_date32(value.type)
    counts = value.view(pa.int32() if days else pa.int64())
    if pa.types.is_string(kind):
        write = texts.write_date if days else texts.write_moment
        return over_unique(
            counts, lambda one: pa.array([None if n is None else write(n) for n in one.to_pylist()], kind)
        ), None
    if pa.types.is_date32(kind):
        return pc.cast(_floored(counts, _DAY), pa.int32(), safe=False).view(kind), None
    if pa.types.is_integer(kind):
        return _from_integer(_floored(counts, _SECOND), kind)
    if not days:
        return counts.view(kind), None
    outside = pc.greater(pc.abs_checked(counts.cast(pa.int64())), pa.scalar(_MOST_DAYS, pa.int64()))
    inside = pc.if_else(outside, pa.scalar(None, pa.int64()), counts.cast(pa.int64()))
    return pc.multiply(inside, pa.scalar(_DAY, pa.int64())).view(kind), _true(outside)


def _floored(counts: pa.Array, unit: int) -> pa.Array:
    valid = pc.is_valid(counts).to_numpy(zero_copy_only=False)
    return pa.array(pc.fill_null(counts, 0).to_numpy() // unit, pa.int64(), mask=~valid)


def _from_integer(value: pa.Array, kind: ArrowType) -> tuple[pa.Array, Bools | None]:
    if pa.types.is_string(kind):
        return value.cast(kind), None
    if pa.types.is_decimal(kind):
        return _to_decimal(value.cast(pa.decimal128(20, 0)), kind)
    if pa.types.is_integer(kind):
        half = 1 << (kind.bit_width - 1)
        if kind.bit_width >= value.type.bit_width:
            return value.cast(kind), None
        outside = pc.or_(
            pc.less(value, pa.scalar(-half, value.type)), pc.greater(value, pa.scalar(half - 1, value.type))
        )
        return value.cast(kind, safe=False), _true(outside)
    return value.cast(kind, safe=False), None


def _from_float(value: pa.Array, kind: ArrowType) -> tuple[pa.Array, Bools | None]:
    if pa.types.is_string(kind):
        return write_floats(value), None
    if pa.types.is_floating(kind):
        return value.cast(kind, safe=False), None
    if pa.types.is_decimal(kind):
        return _float_to_decimal(value.cast(pa.float64()), kind)
    numbers = value.to_numpy(zero_copy_only=False).astype(np.float64)
    valid = pc.is_valid(value).to_numpy(zero_copy_only=False)
    # Java's widening of the bounds: 2^63 itself is let pass, and becomes the greatest long.
    half = 1 << (kind.bit_width - 1)
    low, high = float(-half), float(half - 1)
    with np.errstate(all="ignore"):
        fits = (np.floor(numbers) <= high) & (np.ceil(numbers) >= low)
        whole = np.where(fits, np.trunc(numbers), 0.0)
        integers = np.where(
            whole >= 2.0**63, 2**63 - 1, np.where(whole >= 2.0**63, 0.0, whole).astype(np.int64)
        )
    return pa.array(integers, pa.int64(), mask=~valid).cast(kind, safe=False), valid & ~fits


def _float_to_decimal(value: pa.Array, kind: ArrowType) -> tuple[pa.Array, Bools | None]:
    """What Java writes of doubles, rounded; NULL for what is no number."""
    digits, power = digits_of(value)
    numbers = value.fill_null(0).to_numpy(zero_copy_only=False)
    surplus = -(power + kind.scale)  # so many digits go
    unit = 10 ** np.clip(surplus, 0, _MOST_TENS).astype(np.int64)
    kept = digits // unit + (2 * (digits % unit) >= unit) * (surplus > 0)
    zeros = np.maximum(-surplus, 0)
    written = pa.array(kept).cast(pa.string())
    size = pc.binary_length(written).to_numpy() + zeros
    finite = np.isfinite(numbers)
    outside = finite & (kept > 0) & (size > kind.precision)
    known = pa.array(finite & ~outside & pc.is_valid(value).to_numpy(zero_copy_only=False))
    power = np.where(kept > 0, zeros - kind.scale, 0)
    sign = pc.if_else(pa.array(np.signbit(numbers)), "-", "")
    parts = (sign, written, "E", pa.array(power).cast(pa.string()))
    texts = pc.if_else(known, pc.binary_join_element_wise(*parts, ""), pa.scalar(None, pa.string()))
    return texts.cast(kind), outside


def _from_decimal(value: pa.Array, kind: ArrowType) -> tuple[pa.Array, Bools | None]:
    if pa.types.is_string(kind):
        return over_unique(value, lambda one: pa.array([_plain(each.as_py()) for each in one], kind)), None
    if pa.types.is_decimal(kind):
        return _to_decimal(value, kind)
    if pa.types.is_floating(kind):
        return over_unique(value, lambda one: _to_double(one).cast(kind, safe=False)), None
    half = 1 << (kind.bit_width - 1)
    whole = pc.trunc(value.cast(pa.decimal256(76, value.type.scale))).cast(pa.decimal256(76, 0))
    bounds = [pa.scalar(Decimal(bound), pa.decimal256(76, 0)) for bound in (-half, half - 1)]
    outside = _true(pc.or_(pc.less(whole, bounds[0]), pc.greater(whole, bounds[1])))
    fitting = pc.if_else(pa.array(outside), pa.scalar(None, whole.type), whole)
    return fitting.cast(pa.int64()).cast(kind), outside


def _plain(value: Decimal | None) -> str | None:
    return None if value is None else format(value, "f")


def _to_double(values: pa.Array) -> pa.Array:
    """The doubles nearest to decimals."""
    return pa.array([None if value is None else float(value) for value in values.to_pylist()], pa.float64())


def _to_decimal(value: pa.Array, kind: ArrowType) -> tuple[pa.Array, Bools | None]:
    """Decimals in another decimal type, halves rounded away from zero."""
    from_type = value.type
    if kind.scale >= from_type.scale and kind.precision - kind.scale >= from_type.precision - from_type.scale:
        return value.cast(kind), None
    wide = value.cast(pa.decimal256(76, max(from_type.scale, kind.scale)))
    if kind.scale < from_type.scale:
        wide = pc.round(wide, ndigits=kind.scale, round_mode="half_towards_infinity")
    digits = kind.precision - kind.scale
    if digits + wide.type.scale > 75:  # more than there can be
        return wide.cast(kind), None
    edge = pa.scalar(Decimal(10) ** digits, pa.decimal256(76, wide.type.scale))
    outside = _true(pc.greater_equal(pc.abs(wide), edge))
    fitting = pc.if_else(pa.array(outside), pa.scalar(None, wide.type), wide)
    return fitting.cast(kind), outside


def _true(mask: pa.Array) -> Bools:
    result: Bools = pc.fill_null(mask, fill_value=False).to_numpy(zero_copy_only=False)
    return result


CASTS: dict[str, Kernel] = {"cast": _cast, "try_cast": _try_cast}
