"""What Spark says of the SQL above the blocks, in the words of the statement: views and their columns are the engine's names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Self

from fff.dataflow.plan.expressions import Column
from fff.errors import SparkError
from fff.schema import Field
from fff.sql.binder.spj_block import SourceBlock
from fff.structs import Struct, field

#: A name, perhaps with one before it, each perhaps quoted.
_NAME = re.compile(r"(?<![\w`.])(?:(?P<view>`\w+`|\w+)\.)?(?P<name>`[\w.]+`|\w+)(?![\w`])", re.ASCII)
#: What every name begins with that the engine puts into a statement, columns of views for several tables aside.
_OURS = "__fff_"


class OwnWords(Struct, frozen=True):
    """The statement's names for views and their columns: of `view`, of `view.column`, of a column that only one view has."""

    names: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, blocks: Sequence[tuple[str, SourceBlock, Sequence[Column], Sequence[Field]]]) -> Self:
        """For views with the blocks they are of, the columns in them, and what those are called there."""
        names: dict[str, str] = {}
        for view, block, output, fields in blocks:
            relations = block.scope.relations
            names[view] = relations[0].alias if len(relations) == 1 else "these tables"
            for column, one in zip(output, fields, strict=True):
                written = block.scope.describe(column)
                names[f"{view}.{one.name}"] = written
                if one.name != block.scope.field(column).name:
                    names[one.name] = written
        return cls(names)

    def without(self, made: re.Pattern[str]) -> Self:
        """The same without names of tables that nobody has written."""
        return type(self)({ours: made.sub("", own) or "these tables" for ours, own in self.names.items()})

    def told(self, error: SparkError) -> SparkError:
        """The error without names that nobody has written."""
        reworded = SparkError(_NAME.sub(self._written, error.message), hint=error.hint)
        reworded.__cause__ = error.__cause__
        return reworded

    def _written(self, match: re.Match[str]) -> str:
        quote = "`" if match["name"].startswith("`") else ""
        view, name = (match["view"] or "").strip("`"), match["name"].strip("`")
        own = self.names.get(f"{view}.{name}" if view else name)
        if own is None and view.startswith(_OURS):
            own = name if view not in self.names else f"{self.names[view]}.{name}"
        if own is None and not view and name.startswith(_OURS):
            own = "this query"
        if own is None:
            return match[0]
        return ".".join(f"{quote}{part}{quote}" for part in own.split(".")) if " " not in own else own
