"""What is declared of a Python function: arguments, value, and how it may be called."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from fff.catalog import LookupMethod, Table
from fff.errors import UsageError
from fff.functions.cascade import Proxy
from fff.schema import Field, comparison_kind
from fff.sql.syntax.spark_functions import name_problem
from fff.structs import Struct

#: The most arguments that one call may take together.
MAX_BATCH = 10_000


class PythonFunction(Struct, frozen=True, eq=False):
    """A function that takes the given arguments by position; lists of them, and gives a list, where `batch_size` is over 1.

    `timeout` is in seconds, for one call. `retries` counts the calls after a first one that raised or took
    too long. With a `proxy`, that is called with all arguments, and the function where it cannot be believed.
    """

    name: str
    run: Callable[..., object]
    arguments: tuple[Field, ...]
    value: Field
    batch_size: int = 1
    max_concurrency: int = 8
    timeout: float | None = 60.0
    retries: int = 0
    description: str = ""
    proxy: Proxy | None = None

    @classmethod
    def of(
        cls,
        name: str,
        run: Callable[..., object],
        *,
        arguments: Mapping[str, str],
        returns: str,
        batch_size: int,
        max_concurrency: int,
        timeout: float | None,
        retries: int,
        description: str,
        proxy: Proxy | None = None,
    ) -> PythonFunction:
        """A function from the names of Spark SQL's types; raises UsageError for what cannot be."""
        problem = name_problem(name)
        if problem is not None:
            raise UsageError(f"a function cannot be called {name!r}: {problem}", hint="give it another name")
        if not callable(run):
            raise UsageError(f"{name}: {run!r} cannot be called", hint="pass a function")
        if not arguments:
            raise UsageError(f"{name}: a function needs at least one argument")
        for what, count, low, high in (
            ("batch_size", batch_size, 1, MAX_BATCH),
            ("max_concurrency", max_concurrency, 1, 1000),
            ("retries", retries, 0, 100),
        ):
            if isinstance(count, bool) or not isinstance(count, int) or not low <= count <= high:
                raise UsageError(f"{name}: {what} must be a whole number from {low} to {high}, not {count!r}")
        if timeout is not None and not timeout > 0:
            raise UsageError(
                f"{name}: timeout must be a positive number of seconds, or None, not {timeout!r}"
            )
        fields = tuple(_argument(name, argument, kind) for argument, kind in arguments.items())
        if len({field.name.lower() for field in fields}) < len(fields):
            raise UsageError(
                f"{name}: two arguments differ only in case", hint="SQL does not tell them apart"
            )
        value = _field(name, value_name(arguments), returns)
        if proxy is not None and not isinstance(proxy, Proxy):
            raise UsageError(f"{name}: proxy must be an fff.Proxy, not {proxy!r}")
        if proxy is not None and value.type != "boolean":
            raise UsageError(f"{name}: only a function that returns boolean has a proxy, not {value.type}")
        return cls(
            name, run, fields, value, batch_size, max_concurrency, timeout, retries, description, proxy
        )

    def table(self, source: str) -> Table:
        """The function as a table that is looked up by its arguments."""
        keys = tuple(field.name for field in self.arguments)
        method = f"{self.name}.lookup[{','.join(keys)}]" + (f"x{self.batch_size}" * (self.batch_size > 1))
        return Table(
            source=source,
            name=self.name,
            columns=(*self.arguments, self.value),
            lookups=(LookupMethod(method, keys, self.batch_size, self, f"{source}.{self.name}"),),
            max_in_flight=self.max_concurrency,
            description=self.description,
            function=True,
        )


def value_name(arguments: Iterable[str]) -> str:
    """The name of the column of a function's value: one that no argument has."""
    taken = {name.lower() for name in arguments}
    return next(
        name for name in ("value", "result", *(f"value_{n}" for n in range(len(taken)))) if name not in taken
    )


def _argument(function: str, name: str, kind: str) -> Field:
    if not name:
        raise UsageError(f"{function}: an argument has no name")
    field = _field(function, name, kind)
    if comparison_kind(field.arrow) is None:
        raise UsageError(
            f"{function}: argument {name} cannot be of type {kind}",
            hint="arguments are numbers, strings, Booleans, dates and timestamps",
        )
    return field


def _field(function: str, name: str, kind: str) -> Field:
    try:
        return Field.of(name, kind)
    except ValueError as error:
        raise UsageError(
            f"{function}: {error}", hint="write a type of Spark SQL, such as string or double"
        ) from None
