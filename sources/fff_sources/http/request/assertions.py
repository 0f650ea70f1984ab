"""Signed assertions: JSON Web Tokens. The only importer of PyJWT, which is an extra."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from fff.errors import SecretError
from fff.version import how_to_install


def signed(who: str, claims: Mapping[str, Any], key: str, algorithm: str, headers: Mapping[str, str]) -> str:
    """The token, of a source for the error. Raises SecretError where the key is none, or the package that signs is not there."""
    try:
        jwt = importlib.import_module("jwt")
    except ImportError:
        raise SecretError(
            f"{who}: auth of type jwt needs a package more", hint=how_to_install("jwt")
        ) from None
    try:
        token: str = jwt.encode(dict(claims), key, algorithm=algorithm, headers=dict(headers))
    except Exception as error:  # noqa: BLE001 - whatever is wrong with a key, its text must not be shown
        name = type(error).__name__
        raise SecretError(
            f"{who}: auth of type jwt: the key does not sign with {algorithm} ({name})"
        ) from None
    return token
