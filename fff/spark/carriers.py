"""Types in which values come that Arrow has no type for, or refuses."""

from __future__ import annotations

from typing import Any

_MAY_BE_NULL = ("containsNull", "valueContainsNull", "nullable")


def with_nulls(kind: Any) -> Any:
    """A type as Spark writes it in JSON, with parts that may be NULL; keys, which may not, are texts if they have no type.

    Arrow refuses elements without a type that are never NULL, as those of an empty `array()`.
    """
    if isinstance(kind, list):
        return [with_nulls(one) for one in kind]
    if not isinstance(kind, dict):
        return kind
    parts = {name: name in _MAY_BE_NULL or with_nulls(part) for name, part in kind.items()}
    return parts | {"keyType": "string"} if parts.get("keyType") == "void" else parts


def has_strict_fields(kind: Any) -> bool:
    """Whether a type as Spark writes it in JSON has structs of fields that are never NULL.

    Arrow finds NULLs in these where the struct itself is NULL, and refuses them.
    """
    parts = kind.values() if isinstance(kind, dict) else kind if isinstance(kind, list) else ()
    strict = isinstance(kind, dict) and kind.get("nullable") is False
    return strict or any(map(has_strict_fields, parts))
