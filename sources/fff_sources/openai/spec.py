"""What a spec may say of models, and the requests that it stands for.

sources:
  judge:
    type: openai
    client: {base_url: "https://api.openai.com/v1", auth: {type: bearer, token: "${env:OPENAI_API_KEY}"}}
    model: gpt-5-mini
    functions:
      is_relevant:
        arguments: {abstract: string}
        returns: boolean
        prompt: "Is this about nuclear fusion? {abstract}"
        proxy: {pattern: "fusion|tokamak", precision: 0.9, recall: 0.9}

An answer is an object whose `value` has the declared type, as the request's JSON schema wants it.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

import pyarrow as pa

from fff.errors import SpecError
from fff.functions import Proxy
from fff.schema import arrow_type
from fff_sources.adapter import SourceContext
from fff_sources.http.spec import common, spec
from fff_sources.http.spec.check import read_as
from fff_sources.http.spec.cost import RequestCost
from fff_sources.http.spec.functions import function_problems
from fff_sources.http.spec.model import Field, Spec, field_validator, short_for

_MESSAGE = "choices[0].message"
#: What says that there is no whole answer, at any price.
_NO_ANSWER = [
    {"path": "choices[0].finish_reason", "equals": "length", "action": "fail"},
    {"path": "choices[0].finish_reason", "equals": "content_filter", "action": "fail"},
    {"path": f"{_MESSAGE}.refusal", "action": "fail"},
]


class PatternProxy(Spec):
    """A pattern in the place of a model that answers true or false: the more often it is found, the likelier is true."""

    pattern: str = Field(min_length=1)
    precision: float = Field(default=0.9, gt=0, lt=1)
    recall: float = Field(default=0.9, gt=0, lt=1)
    confidence: float = Field(default=0.95, gt=0, lt=1)
    seed: int = 0

    @field_validator("pattern", mode="after")
    @classmethod
    def _is_a_pattern(cls, pattern: str) -> str:
        try:
            re.compile(pattern)
        except re.error as error:
            raise ValueError(f"is no regular expression: {error}") from None
        return pattern

    def made(self) -> Proxy:
        """The proxy."""
        pattern = re.compile(self.pattern, re.IGNORECASE)

        async def count(*arguments: object) -> float:  # a coroutine: it needs no thread
            return float(sum(1 for one in arguments for _ in pattern.finditer(str(one))))

        return Proxy(count, self.precision, self.recall, self.confidence, self.seed)


class PromptSpec(Spec):
    """A function that a model answers: `{name}` in the prompt is the argument. `options` are further members of the request."""

    description: str = ""
    arguments: dict[str, Annotated[spec.ColumnSpec, short_for("type")]] = Field(min_length=1)
    returns: spec.TypeName
    prompt: spec.Text
    system: spec.Text | None = None
    model: str | None = None
    options: dict[str, Any] = Field(default_factory=dict)
    proxy: PatternProxy | None = None
    cost: RequestCost | None = None

    def request(self, model: str | None) -> spec.FunctionSpec:
        """The function as the request that it stands for; `model`: where it names none."""
        messages = [{"role": "user", "content": self.prompt}]
        if self.system is not None:
            messages.insert(0, {"role": "system", "content": self.system})
        body = {
            "model": self.model or model,
            "messages": messages,
            "temperature": 0,
            "response_format": {"type": "json_schema", "json_schema": _answer_schema(self.returns)},
        } | self.options
        endpoint = {
            "path": "chat/completions",
            "method": "POST",
            "json": body,
            "data_selector": f"{_MESSAGE}.content",
            "decode": {"path": f"{_MESSAGE}.content", "steps": ["json"]},
            "paginator": "single_page",
        }
        return spec.FunctionSpec.model_validate(
            {
                "description": self.description,
                "arguments": self.arguments,
                "returns": {"type": self.returns, "path": "value"},
                "endpoint": endpoint,
                "on_response": _NO_ANSWER,
                "cost": self.cost,
            }
        )


class OpenAISpec(common.SourceSpec):
    """A whole source of type `openai`."""

    type: Literal["openai"]
    model: str | None = None
    functions: dict[str, PromptSpec] = Field(min_length=1)

    def requests(self) -> dict[str, spec.FunctionSpec]:
        """Each function as the request that it stands for."""
        return {name: part.request(self.model) for name, part in self.functions.items()}


def read_openai(context: SourceContext) -> tuple[Any, list[SpecError]]:
    """The spec of one source, and everything that is wrong with it."""
    declared, faults = read_as(OpenAISpec, context.name, context.document)
    if declared is None:
        return None, faults
    faults += function_problems(context.name, declared.requests(), context.document)
    for name, part in declared.functions.items():
        base = ("sources", context.name, "functions", name)
        if part.model is None and declared.model is None:
            faults.append(
                context.document.error(
                    base, "names no model", hint="model: of the function, or of the source"
                )
            )
        if part.proxy is not None and not pa.types.is_boolean(arrow_type(part.returns)):
            faults.append(
                context.document.error((*base, "proxy"), "only a function that returns boolean has a proxy")
            )
    return declared, faults


def _answer_schema(returns: str) -> dict[str, Any]:
    """The JSON schema of an answer, as structured outputs want it."""
    value = {"type": _json_type(arrow_type(returns))}
    schema = {"type": "object", "properties": {"value": value}, "required": ["value"], "additionalProperties": False}  # fmt: skip
    return {"name": "answer", "strict": True, "schema": schema}


def _json_type(kind: pa.DataType) -> str:
    if pa.types.is_boolean(kind):
        return "boolean"
    if pa.types.is_integer(kind):
        return "integer"
    return "number" if pa.types.is_floating(kind) or pa.types.is_decimal(kind) else "string"
