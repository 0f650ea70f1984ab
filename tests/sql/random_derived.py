"""Random statements whose FROM holds queries, over the tables of `hard_rows`."""

from __future__ import annotations

import random
from dataclasses import dataclass

COLUMNS = {"r": ["i", "l", "t", "d", "s", "m", "b", "dt"], "u": ["i", "s"]}
_KINDS = {"i": "number", "l": "number", "t": "number", "s": "text"}
_HIDING = ("LEFT SEMI JOIN", "LEFT ANTI JOIN")

#: Names of columns with what kind of values they have.
Columns = list[tuple[str, str]]


@dataclass
class Writer:
    """Writes one statement after another."""

    seed: random.Random
    names: int = 0

    def statement(self) -> str:
        if self.seed.random() < 0.7:
            return self._query(2)[0]
        text, columns = self._query(1)
        items = ", ".join(f"w1.{name}" for name, _ in columns)
        return f"WITH w1 AS ({text}) SELECT {items}, z.i AS zi FROM w1 JOIN u z ON z.s IS NOT NULL"

    def _fresh(self, letter: str) -> str:
        self.names += 1
        return f"{letter}{self.names}"

    def _entry(self, depth: int) -> tuple[str, str, Columns]:
        """An entry of FROM, its alias, its columns."""
        alias = self._fresh("a")
        if depth and self.seed.random() < 0.6:
            text, columns = self._query(depth - 1)
            return f"({text}){self.seed.choice([' ', ' AS '])}{alias}", alias, columns
        table = self.seed.choice(list(COLUMNS))
        name = self.seed.choice(["", "w."]) + table
        return f"{name} {alias}", alias, [(one, _KINDS.get(one, "other")) for one in COLUMNS[table]]

    def _query(self, depth: int) -> tuple[str, Columns]:
        while True:
            text, pool = self._from(depth)
            items: list[str] = []
            columns: Columns = []
            for _ in range(self.seed.randint(1, 4)):
                item, kind = self._item(pool)
                name = item.rsplit(".", 1)[-1]
                if not name.isalnum() or self.seed.random() < 0.4:
                    name = self.seed.choice(["i", "s", "l", self._fresh("c")])
                    item = f"{item} AS {name}"
                items.append(item)
                columns.append((name, kind))
            if self.seed.random() < 0.3 and "JOIN" not in text and "," not in text:
                at = self.seed.randint(0, len(items))
                items.insert(at, "*")
                columns[at:at] = [one for one in pool if "." not in one[0]]
            where = ""
            if self.seed.random() < 0.5:
                word = self.seed.choice([" AND ", " OR "])
                where = " WHERE " + word.join(self._condition(pool) for _ in range(self.seed.randint(1, 2)))
            if len({name for name, _ in columns}) == len(columns):
                return f"SELECT {', '.join(items)} FROM {text}{where}", columns

    def _from(self, depth: int) -> tuple[str, Columns]:
        """The text behind FROM, and every name of a column that is clear there."""
        text, alias, columns = self._entry(depth)
        seen = [(f"{alias}.{name}", kind) for name, kind in columns]
        if self.seed.random() < 0.4:
            other, right, more = self._entry(depth)
            numbers, theirs = ([name for name, kind in some if kind == "number"] for some in (columns, more))
            if numbers and theirs:
                join = self.seed.choice(["JOIN", "LEFT JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN", ","])
                both = [name for name in numbers if name in theirs]
                if join == ",":
                    text += f", {other}"
                elif both and join not in _HIDING and self.seed.random() < 0.3:
                    text += f" {join} {other} USING ({self.seed.choice(both)})"
                else:
                    on = f"{alias}.{self.seed.choice(numbers)} = {right}.{self.seed.choice(theirs)}"
                    text += f" {join} {other} ON {on}"
                if join not in _HIDING:
                    seen += [(f"{right}.{name}", kind) for name, kind in more]
        bare = [(name.rsplit(".", 1)[1], kind) for name, kind in seen]
        return text, seen + [one for one in bare if sum(one[0] == name for name, _ in bare) == 1]

    def _item(self, pool: Columns) -> tuple[str, str]:
        name, kind = self.seed.choice(pool)
        if kind == "number" and self.seed.random() < 0.4:
            shapes = ["{} % 5", "coalesce({}, 3)", "{} IS NULL", "if({} > 0, 1, 2)"]
            return self.seed.choice(shapes).format(name), "other"
        if kind == "text" and self.seed.random() < 0.3:
            return f"upper({name})", "text"
        return name, kind

    def _condition(self, pool: Columns) -> str:
        name, kind = self.seed.choice(pool)
        shapes = {
            "number": ["{} > 0", "{} IS NOT NULL", "{} = 1", "{} < 100"],
            "text": ["{} LIKE 'a%'", "{} <> ''", "{} IS NULL"],
        }
        return self.seed.choice(shapes.get(kind, ["{} IS NOT NULL"])).format(name)
