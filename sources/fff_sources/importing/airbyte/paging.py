"""Paginators of a declarative manifest."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from fff.structs import lazy_pattern
from fff_sources.authoring.sampling.shape import step
from fff_sources.importing.airbyte.expressions import (
    TemplateReference,
    literal_of,
    only_expression,
    reference_of,
)
from fff_sources.importing.airbyte.manifest import ManifestPart
from fff_sources.importing.fidelity import shown

_ABSENT = lazy_pattern(
    r"(?P<a>.+?)\s*(?:is\s+(?:none|not\s+defined|undefined)|==\s*(?:''|\"\"|None|none|\[\]|\{\}|\(\)))\s*"
)
_FALSE = lazy_pattern(r"(?P<a>.+?)\s*(?:is\s+(?:false|False)|==\s*(?:False|false))\s*")
_TRUE = lazy_pattern(r"(?P<a>.+?)\s*(?:is\s+(?:true|True)|==\s*(?:True|true))\s*")
_NOT_IN = lazy_pattern(r"(?P<key>'[^']*'|\"[^\"]*\")\s+not\s+in\s+(?P<a>.+)")
_NEXT = lazy_pattern(r"(?P<a>.+?)(?:\s*\|\s*int)?\s*\+\s*1\s*")
_FLAG = lazy_pattern(r"has|more|next_?page$|incomplete", re.IGNORECASE)
_LINKS = ("link", "Link", "LINK")

Tell = Callable[..., None]  # field, outcome, note, incomplete


def path_of(reference: TemplateReference) -> str:
    """Where in an answer a reference leads, as a spec writes it."""
    return step("$", *reference.path)


def paginator_of(
    paginator: ManifestPart, selector: str, method: str, tell: Callable[..., None]
) -> dict[str, Any] | None:
    """The paginator as a spec writes it, or None where the answers must say how they go on.

    Args:
        paginator: the manifest's.
        selector: where the records are.
        method: of the request.
        tell: is told of each field.
    """
    if paginator.kind in ("", "NoPagination"):
        return None
    strategy, token = paginator.part("pagination_strategy"), paginator.part("page_token_option")
    if paginator.kind != "DefaultPaginator" or not strategy:
        return _left_to_answers(paginator, f"{paginator.kind} is none that FFF knows", tell)
    name, into, whole = _option(token)
    if into == "body_json" and method != "POST":
        into = "request_parameter"
    if not whole and (not name or into not in ("request_parameter", "body_json")):
        where = into or "nowhere"
        return _left_to_answers(token, f"the page goes into {where}, and FFF writes it into parameters", tell)
    body = into == "body_json"
    size = _size(paginator, strategy, method, tell)
    match strategy.kind:
        case "PageIncrement":
            base = strategy.get("start_from_page")
            base = base if isinstance(base, int) and not isinstance(base, bool) else 0
            _first(strategy, f"{name}={base}", tell)
            place = {"page_body_path": name} if body else {}
            tell(strategy, "translated")
            return {"type": "page_number", "page_param": name, **place, "base_page": base, **size}
        case "OffsetIncrement":
            _first(strategy, f"{name}=0", tell)
            size.setdefault("page_size_param", None)
            if "limit_body_path" in size or body:
                size = {"offset_body_path": name, **size} if body else size
            tell(strategy, "translated")
            return {"type": "offset", "offset_param": name, **size}
        case "CursorPagination":
            return _cursor(strategy, selector, tell, name=name, body=body, whole=whole, size=size)
    return _left_to_answers(strategy, f"{strategy.kind} is none that FFF knows", tell)


def _option(option: ManifestPart) -> tuple[str, str, bool]:
    """The name that a request option has, where it goes, and whether it is the whole URL."""
    into = option.text("inject_into") or ""
    whole = option.kind == "RequestPath" or into == "path"
    field_path = option.items("field_path")
    name = option.text("field_name") or ".".join(str(part) for part in field_path)
    return name, into or "request_parameter", whole


def _size(paginator: ManifestPart, strategy: ManifestPart, method: str, tell: Tell) -> dict[str, Any]:
    """How long pages are, where a request says so."""
    option = paginator.part("page_size_option")
    size = strategy.get("page_size")
    size = int(size) if isinstance(size, str) and size.isdigit() else size
    if not option:
        return {}  # pages end at an empty one, whatever length the connector takes for granted
    name, into, _ = _option(option)
    if not isinstance(size, int) or isinstance(size, bool) or size < 1 or not name:
        if size is not None:
            tell(strategy, "dropped", "page_size is no number: pages are as long as the source makes them")
        return {}
    if into == "body_json" and method == "POST" and strategy.kind == "OffsetIncrement":
        return {"page_size": size, "page_size_param": name, "limit_body_path": name}
    if into != "request_parameter":
        tell(option, "dropped", "a page size elsewhere than in a parameter")
        return {}
    tell(option, "translated")
    return {"page_size": size, "page_size_param": name}


def _first(strategy: ManifestPart, sent: str, tell: Tell) -> None:
    if strategy.get("inject_on_first_request") is not True:
        tell(strategy, "approximated", f"the first request says {sent} as well")


def _cursor(
    strategy: ManifestPart,
    selector: str,
    tell: Tell,
    *,
    name: str,
    body: bool,
    whole: bool,
    size: dict[str, Any],
) -> dict[str, Any] | None:
    expression = only_expression(strategy.get("cursor_value"))
    reference = reference_of(expression) if expression is not None else None
    if reference is None and expression is not None and not whole:
        counted = _NEXT.fullmatch(expression)
        if counted is not None and (page := reference_of(counted["a"])) is not None and page.path:
            strategy.get("stop_condition")
            tell(strategy, "approximated", "pages are counted from 1 to an empty one")
            place = {"page_body_path": name} if body else {}
            return {"type": "page_number", "page_param": name, **place, **size}
    if reference is None or not reference.path:
        return _left_to_answers(
            strategy, f"cursor_value computes: {shown(strategy.get('cursor_value'))}", tell
        )
    if reference.root == "headers":
        if str(reference.path[0]) in _LINKS:
            strategy.get("stop_condition")
            tell(strategy, "translated")
            return {"type": "header_link"} | size
        return _left_to_answers(strategy, "the cursor comes in a header", tell)
    if reference.root == "response":
        path = path_of(reference)
    elif reference.root == "last_record":
        path = (f"{selector}[-1]" if selector != "$" else "[-1]") + "".join(
            f".{part}" if step("$", part) == part else step("$", part) for part in reference.path
        )
    else:
        return _left_to_answers(strategy, f"cursor_value names {reference.root}", tell)
    flag = _flag(strategy, reference, tell)
    tell(strategy, "translated")
    if whole:
        return {"type": "json_link", "next_url_path": path, **flag, **size}
    place = {"cursor_body_path": name} if body else {}
    return {"type": "cursor", "cursor_path": path, "cursor_param": name, **place, **flag, **size}


def _flag(strategy: ManifestPart, cursor: TemplateReference, tell: Tell) -> dict[str, Any]:
    """What the condition to stop says beyond that there is no cursor."""
    written = strategy.get("stop_condition")
    if written is None:
        return {}
    expression = only_expression(written)
    if expression is None:
        if literal_of(str(written)) is None and str(written) not in ("True", "true", "False", "false"):
            tell(strategy, "dropped", f"stop_condition {shown(written)}: pages end where there is no cursor")
        return {}
    plain = expression
    for pattern, key in ((_FALSE, "has_more_path"), (_TRUE, "end_path")):
        match = pattern.fullmatch(expression)
        if match is not None and (reference := reference_of(match["a"])) is not None:
            if reference.root == "response" and reference.path and reference.path != cursor.path:
                return {key: path_of(reference)}
            return {}
    if expression.startswith("not "):
        plain = expression[4:].strip()
        reference = reference_of(plain)
        if (
            reference is not None
            and reference.root == "response"
            and reference.path
            and reference.path != cursor.path
            and _FLAG.search(str(reference.path[-1]))
        ):
            return {"has_more_path": path_of(reference)}
    if _means_none(plain, cursor):
        return {}
    tell(strategy, "dropped", f"stop_condition {shown(written)}: pages end where there is no cursor")
    return {}


def _means_none(expression: str, cursor: TemplateReference) -> bool:
    """Whether a condition says that there is no cursor, or nothing to find it in."""
    absent, within = _ABSENT.fullmatch(expression), _NOT_IN.fullmatch(expression)
    if within is not None:
        reference = reference_of(within["a"])
        key = literal_of(within["key"])
        path = (*reference.path, key) if reference is not None and key is not None else None
    else:
        reference = reference_of(absent["a"] if absent is not None else expression)
        path = reference.path if reference is not None else None
    return (
        reference is not None
        and path is not None
        and reference.root == cursor.root
        and path == cursor.path[: len(path)]
    )


def _left_to_answers(part: ManifestPart, why: str, tell: Tell) -> dict[str, Any] | None:
    """Answers must then say how they go on, and what they do not say is not known."""
    note = f"{why}; pages are followed where answers say how they go on"
    tell(part, "dropped", note, incomplete=True)
    return None
