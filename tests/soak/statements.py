"""What the soak asks, and of a function of the source what it answers."""

from __future__ import annotations

import json
from dataclasses import dataclass

from fff.structs import replace
from tests.faults.wire import Asked, Reply


@dataclass(frozen=True)
class Statement:
    """`SELECT what FROM tables WHERE … tail`. `first`: it asks for the first so many rows of any order.

    `monotone`: over fewer rows of its tables it has fewer rows, and no other ones.
    """

    what: str
    tables: str
    where: tuple[str, ...] = ()
    tail: str = ""
    first: int | None = None
    monotone: bool = True

    @property
    def calls(self) -> bool:
        """Whether it calls the function of the source."""
        return "web.odd(" in self.sql

    @property
    def sql(self) -> str:
        where = f" WHERE {' AND '.join(self.where)}" if self.where else ""
        limit = "" if self.first is None else f" LIMIT {self.first}"
        return f"SELECT {self.what} FROM {self.tables}{where}{self.tail}{limit}"

    def stricter(self, condition: str) -> Statement:
        return replace(self, where=(*self.where, condition))


STATEMENTS = (
    Statement("r.id, r.name, r.note", "web.r"),
    Statement("r.id, s.id", "web.r JOIN web.s ON r.grp = s.grp"),
    Statement("r.id, s.name", "web.r, web.s", ("r.grp = s.grp", "r.id < 20")),
    Statement("r.id, s.id, t.id", "web.r, web.s, web.t", ("r.grp = s.grp", "s.grp = t.grp", "r.id < 9")),
    Statement("s.id, t.name", "web.s JOIN web.t ON s.grp = t.grp", ("s.grp IN ('g01', 'g02', 'g07', 'none')",)),
    Statement("s.id, s.note", "web.s", ("s.grp IN ('g00', 'g03', 'g04', 'g05', 'g09', 'g10', 'none')",)),
    Statement("x.id, y.id", "web.r x JOIN web.r y ON x.grp = y.grp", ("x.id < y.id",)),
    Statement("r.id", "web.r", ("EXISTS (SELECT 1 FROM web.s WHERE s.grp = r.grp AND s.id > r.id)",)),
    Statement("r.id, s.id", "web.r JOIN web.s ON r.grp = s.grp", first=7),
    Statement("r.id, r.name", "web.r", first=15),
)  # fmt: skip
SHAPES = tuple(
    replace(one, monotone=False)
    for one in (
        Statement("r.id, s.id", "web.r LEFT JOIN web.s ON r.grp = s.grp"),
        Statement("r.id", "web.r", ("NOT EXISTS (SELECT 1 FROM web.s WHERE s.grp = r.grp)",)),
        Statement("r.id", "web.r", ("r.grp NOT IN (SELECT s.grp FROM web.s WHERE s.id < 30)",)),
        Statement("r.id, s.id, t.id", "web.r LEFT JOIN web.s ON r.grp = s.grp LEFT JOIN web.t ON s.grp = t.grp AND t.id < 9"),
        Statement("r.grp, count(*) AS n, max(r.id) AS high, min(r.id) AS low", "web.r", tail=" GROUP BY r.grp"),
        Statement("r.grp, count(*) AS n, count(s.note) AS notes", "web.r JOIN web.s ON r.grp = s.grp", tail=" GROUP BY r.grp"),
        Statement("count(*) AS n", "web.r JOIN web.s ON r.grp = s.grp", ("r.id < 30",)),
        Statement("DISTINCT r.grp", "web.r JOIN web.s ON r.grp = s.grp"),
        Statement("r.id FROM web.r EXCEPT SELECT s.id", "web.s", ("s.id > 20",)),
        Statement("r.id FROM web.r JOIN web.s ON r.grp = s.grp UNION ALL SELECT t.id", "web.t"),
        Statement("r.id, r.name", "web.r", tail=" ORDER BY r.id LIMIT 9"),
        Statement("r.id, r.name", "web.r", ("r.id > 11",), tail=" ORDER BY r.id LIMIT 5"),
        Statement("r.id, s.id", "web.r JOIN web.s ON r.grp = s.grp", tail=" ORDER BY r.id, s.id LIMIT 9"),
        Statement("r.id, s.id", "web.r FULL JOIN web.s ON r.id = s.id"),
        Statement("r.id, (SELECT count(*) FROM web.s WHERE s.grp = r.grp) AS n", "web.r"),
        Statement("r.grp, count(*) AS n", "web.r", tail=" GROUP BY r.grp HAVING count(*) > 4"),
        Statement("r.id", "web.r", ("r.id > (SELECT avg(s.id) FROM web.s)",)),
        Statement("q.grp, q.n, s.id", "(SELECT grp, count(*) AS n FROM web.r GROUP BY grp) q JOIN web.s ON s.grp = q.grp"),
        Statement("sum(r.id) AS total, avg(r.id) AS mean, count(DISTINCT r.grp) AS groups", "web.r"),
        Statement("r.id, row_number() OVER (PARTITION BY r.grp ORDER BY r.id) AS place", "web.r"),
    )
)  # fmt: skip
#: What makes a statement stricter, of tables that it has.
STRICTER = (
    "r.id < 12",
    "r.id >= 40",
    "s.id < 12",
    "r.grp = 'g03'",
    "s.grp IN ('g01', 'g02')",
    "r.note IS NULL",
)


def _certified(what: str, tables: str, *where: str, tail: str = "", first: int | None = None) -> Statement:
    return Statement(what, tables, where, tail, first, monotone=False)


def _q(sql: str) -> str:
    return f"({sql}) q"


#: Whose partial answers are hard to tell the worth of: calls that fail, first rows of queries inside, what is absent.
CERTIFIED = (
    Statement("r.id", "web.r", ("web.odd(r.id)",)),
    Statement("r.id, s.id", "web.r JOIN web.s ON r.grp = s.grp", ("web.odd(s.id)", "r.id < 30")),
    Statement("r.id", "web.r", ("(web.odd(r.id) OR r.id < 9)",)),
    Statement("r.id", "web.r", ("r.id IN (SELECT s.id FROM web.s WHERE web.odd(s.id))",)),
    Statement("r.id", "web.r", ("(r.id < 5 OR r.grp IN (SELECT s.grp FROM web.s WHERE s.id > 30))",)),
    Statement("r.id", "web.r SEMI JOIN web.s ON r.grp = s.grp AND s.id > 20"),
    Statement("s.id, s.name", "web.s", ("s.grp IN (SELECT r.grp FROM web.r WHERE r.id < 9)",)),
    Statement("r.id", "web.r", ("EXISTS (SELECT 1 FROM web.s WHERE s.grp = 'g02' AND s.id > 40)",)),
    Statement("r.id", "web.r", ("NOT (NOT EXISTS (SELECT 1 FROM web.s WHERE s.grp = r.grp) OR r.id > 40)",)),
    Statement("r.grp FROM web.r INTERSECT SELECT s.grp", "web.s", ("s.id > 20",)),
    Statement("r.grp FROM web.r UNION SELECT s.grp", "web.s", ("s.id > 20",)),
    Statement("DISTINCT r.grp", "web.r", first=5),
    Statement("DISTINCT r.grp, s.grp", "web.r JOIN web.s ON r.id = s.id", first=4),
    _certified("r.id, CASE WHEN web.odd(r.id) THEN 1 ELSE 0 END AS odd", "web.r"),
    _certified("r.id, coalesce(web.odd(r.id), true) AS odd", "web.r"),
    _certified("r.id", "web.r", "web.odd(r.id) IS NULL"),
    _certified("r.id", "web.r", "r.id NOT IN (SELECT s.id FROM web.s WHERE web.odd(s.id))"),
    _certified("r.id", "web.r", "NOT EXISTS (SELECT 1 FROM web.s WHERE s.grp = r.grp AND web.odd(s.id))"),
    _certified("r.id FROM web.r EXCEPT SELECT s.id", "web.s", "web.odd(s.id)"),
    _certified("r.id FROM web.r WHERE web.odd(r.id) EXCEPT SELECT s.id", "web.s"),
    _certified("r.grp, count_if(web.odd(r.id)) AS n", "web.r", tail=" GROUP BY r.grp"),
    _certified("r.grp, count(*) AS n, max(r.id) AS high", "web.r", "web.odd(r.id)", tail=" GROUP BY r.grp"),
    _certified("count(*) AS n, min(s.id) AS low", "web.r JOIN web.s ON r.grp = s.grp", "web.odd(r.id)"),
    _certified("r.id, q.id", "web.r LEFT JOIN (SELECT id FROM web.s WHERE web.odd(id)) q ON q.id = r.id"),
    _certified("r.id, s.id", "web.r LEFT JOIN web.s ON r.id = s.id", "web.odd(s.id)"),
    _certified("q.id", _q("SELECT id FROM web.r WHERE web.odd(id) ORDER BY id LIMIT 5")),
    _certified("q.id, q.name", _q("SELECT id, name FROM web.r ORDER BY id DESC LIMIT 9")),
    _certified("q.id", _q("SELECT id FROM web.r ORDER BY id"), tail=" LIMIT 5"),
    _certified("q.id, s.id", _q("SELECT id, grp FROM web.r ORDER BY id LIMIT 5") + " JOIN web.s ON s.grp = q.grp"),
    _certified("count(*) AS n, max(q.id) AS high", _q("SELECT id FROM web.r ORDER BY id LIMIT 9")),
    _certified("count(*) AS n", _q("SELECT id FROM web.r LIMIT 9")),
    _certified("count(*) AS n", _q("SELECT id FROM web.r WHERE id > 9 LIMIT 30")),
    _certified("count(*) AS n", _q("SELECT DISTINCT grp FROM web.r LIMIT 5")),
    _certified("r.id", "web.r", "r.id IN (SELECT s.id FROM web.s ORDER BY s.id DESC LIMIT 12)"),
    _certified("r.id", "web.r", "r.id NOT IN (SELECT s.id FROM web.s ORDER BY s.id LIMIT 12)"),
    _certified("r.grp, count(*) AS n", "web.r", tail=" GROUP BY r.grp", first=4),
    _certified("r.grp, count(*) AS n", "web.r", tail=" GROUP BY r.grp ORDER BY n DESC, r.grp LIMIT 3"),
    _certified("bool_or(r.id > 40) AS some, bool_and(r.id < 50) AS whole", "web.r"),
    _certified("every(r.id < 50) AS whole, count(*) AS n", "web.r"),
    _certified("max_by(r.name, r.id) AS latest, min_by(r.name, r.id) AS first", "web.r"),
    _certified("any_value(r.grp) AS grp, max(r.name) AS name", "web.r", "r.grp = 'g03'"),
    _certified("max(r.id) - min(r.id) AS spread, count(*) FILTER (WHERE r.id > 5) AS n", "web.r"),
    _certified("r.id", "web.r ANTI JOIN web.s ON r.grp = s.grp AND s.id > 40"),
    _certified("r.id", "web.r", "NOT EXISTS (SELECT 1 FROM web.s WHERE s.id > 56)"),
    _certified("r.id", "web.r", "NOT EXISTS (SELECT 1 FROM web.s WHERE s.grp = r.grp AND s.id > r.id)"),
    _certified("r.id", "web.r", "NOT (r.id IN (SELECT s.id FROM web.s) OR r.id > 40)"),
    _certified("s.id", "web.s", "s.grp IN ('g01', 'g02')", "s.id NOT IN (SELECT t.id FROM web.t WHERE t.grp = 'g01')"),
    _certified("r.id", "web.r LEFT JOIN web.s ON r.id = s.id", "s.id IS NULL"),
    _certified("s.id, r.id", "web.s RIGHT JOIN web.r ON r.id = s.id AND s.id > 9"),
    _certified("r.id, r.id IN (SELECT s.id FROM web.s) AS there", "web.r"),
    _certified("r.id, CASE WHEN EXISTS (SELECT 1 FROM web.s WHERE s.grp = r.grp) THEN 1 ELSE 0 END AS there", "web.r"),
    _certified("r.id, (SELECT max(s.id) FROM web.s) AS high", "web.r"),
    _certified("count(*) AS n", "web.r LEFT JOIN web.s ON r.grp = s.grp"),
    _certified("r.grp, count(s.id) AS n", "web.r LEFT JOIN web.s ON r.grp = s.grp", tail=" GROUP BY r.grp"),
    _certified("count(*) AS n", "web.r", "r.grp IN (SELECT s.grp FROM web.s)"),
    _certified("count(*) AS n", "web.r", "r.grp NOT IN (SELECT s.grp FROM web.s WHERE s.id > 20)"),
    _certified("sum(CASE WHEN r.id > 9 THEN 2 ELSE 1 END) AS two, count(*) AS n, count(r.note) AS notes", "web.r"),
    _certified("sum(length(r.name)) AS total, count(DISTINCT r.grp) AS groups", "web.r"),
    _certified("sum(CASE WHEN s.id > 9 THEN 2 ELSE 1 END) AS two", "web.r JOIN web.s ON r.grp = s.grp"),
    _certified("count(*) AS n", _q("SELECT r.id FROM web.r UNION ALL SELECT s.id FROM web.s WHERE s.id > 9")),
    _certified("count(*) AS n", _q("SELECT r.grp FROM web.r UNION SELECT s.grp FROM web.s")),
    _certified("count(*) AS n", _q("SELECT r.id FROM web.r EXCEPT SELECT s.id FROM web.s")),
    _certified("count(*) AS n, max(q.n) AS most", _q("SELECT grp, count(*) AS n FROM web.r GROUP BY grp")),
    _certified("r.grp FROM web.r EXCEPT ALL SELECT s.grp", "web.s", "s.id > 20"),
    _certified("r.id, sum(r.id) OVER (PARTITION BY r.grp) AS total", "web.r"),
    _certified("r.id", "web.r", "r.id IN (SELECT max(s.id) FROM web.s GROUP BY s.grp)"),
    _certified("r.id", "web.r", "EXISTS (SELECT s.grp FROM web.s GROUP BY s.grp HAVING count(*) < 3)"),
    _certified("r.grp, count(*) AS n", "web.r", tail=" GROUP BY ROLLUP (r.grp)"),
    _certified("r.id > 20 AS late, count(*) AS n, min(r.note) AS note", "web.r", tail=" GROUP BY 1"),
    _certified("r.grp, count(r.note) AS n", "web.r", tail=" GROUP BY r.grp HAVING min(r.id) > 5"),
    _certified("r.grp, min(r.id) AS low", "web.r", tail=" GROUP BY r.grp ORDER BY low LIMIT 3"),
    _certified("count(*) AS n FROM web.r UNION ALL SELECT count(*)", "web.s"),
    _certified("DISTINCT q.n", _q("SELECT count(*) AS n FROM web.r GROUP BY grp")),
    _certified("count(*) AS n", "web.r, web.s", "r.id < 9", "s.id < 9"),
    _certified("r.id, count(*) OVER (PARTITION BY r.grp) AS n", "web.r", tail=" QUALIFY n > 4"),
    _certified("r.grp, count(DISTINCT s.id) AS n, max(s.id) AS high", "web.r JOIN web.s ON r.grp = s.grp",
               tail=" GROUP BY r.grp"),
    _certified("r.id, lag(r.id) OVER (ORDER BY r.id) AS before", "web.r"),
    _certified("max(CASE WHEN web.odd(r.id) THEN 0 ELSE r.id END) AS high", "web.r"),
    _certified("count_if(NOT web.odd(r.id)) AS n, count_if(coalesce(web.odd(r.id), true)) AS m", "web.r"),
    _certified("count(*) FILTER (WHERE web.odd(r.id) IS NULL) AS n", "web.r"),
    _certified("count(*) AS n", "web.r", "web.odd(r.id) IS NULL"),
    _certified("count(*) AS n", "web.r", "coalesce(web.odd(r.id), r.id > 3)"),
    _certified("web.odd(r.id) AS odd, count(*) AS n", "web.r", tail=" GROUP BY 1"),
    _certified("coalesce(web.odd(r.id), true) AS odd, count(*) AS n, min(r.id) AS low", "web.r", tail=" GROUP BY 1"),
    _certified("min(CASE WHEN web.odd(r.id) THEN r.id ELSE 0 END) AS low", "web.r"),
    _certified("sum(CASE WHEN web.odd(r.id) THEN 1 ELSE 3 END) AS total", "web.r"),
    _certified("count(*) AS n", _q("SELECT web.odd(id) AS odd FROM web.r"), "odd IS NULL OR NOT odd"),
    _certified("count(*) AS n", "web.r LEFT JOIN (SELECT id FROM web.s WHERE web.odd(id)) q ON q.id = r.id", "q.id IS NULL"),
    _certified("r.grp, max(s.id) AS high", "web.r LEFT JOIN web.s ON r.grp = s.grp", tail=" GROUP BY r.grp"),
    _certified("s.grp, count(*) AS n", "web.r LEFT JOIN web.s ON r.id = s.id", tail=" GROUP BY s.grp"),
    _certified("count(*) AS n, count(DISTINCT r.grp) AS g", "web.r", "r.id NOT IN (SELECT s.id FROM web.s WHERE web.odd(s.id))"),
    _certified("count(*) AS n", _q("SELECT grp, max(id) AS high FROM web.r GROUP BY grp"), "high < 50"),
    _certified("max(q.low) AS high", _q("SELECT grp, min(id) AS low FROM web.r GROUP BY grp")),
    _certified("max(-r.id) AS a, min(-r.id) AS b, max(r.id % 7) AS c, count(nullif(r.id, 3)) AS d", "web.r"),
    _certified("count(*) AS n", _q("SELECT row_number() OVER (ORDER BY id) AS place FROM web.r"), "place < 9"),
    _certified("max(q.id) AS high", _q("SELECT id FROM web.r ORDER BY id DESC LIMIT 5 OFFSET 3")),
    _certified("r.id", "web.r", "r.id > ALL (SELECT s.id FROM web.s WHERE s.id < 20)"),
    _certified("r.id", "web.r", "r.id = ANY (SELECT s.id FROM web.s)"),
    _certified("r.id", "web.r", "(r.id, r.grp) NOT IN (SELECT s.id, s.grp FROM web.s)"),
    _certified("r.id", "web.r", "(r.id IN (SELECT s.id FROM web.s)) = false"),
    _certified("r.id", "web.r", "(r.id IN (SELECT s.id FROM web.s)) IS NOT TRUE"),
    _certified("r.id", "web.r", "CASE WHEN r.id IN (SELECT s.id FROM web.s) THEN false ELSE true END"),
    _certified("r.id, s.id", "web.r LEFT JOIN web.s ON r.id = s.id", "coalesce(s.id, 0) = 0"),
    _certified("count(*) AS n", "web.r", "EXISTS (SELECT 1 FROM web.s WHERE s.grp = r.grp HAVING count(*) < 4)"),
    _certified("count(*) AS n", "web.r", "r.id > (SELECT min(s.id) FROM web.s)"),
    _certified("max((SELECT count(*) FROM web.s WHERE s.grp = r.grp)) AS n", "web.r"),
    _certified("count(DISTINCT CASE WHEN web.odd(r.id) THEN 1 ELSE r.id END) AS n", "web.r"),
    _certified("r.grp, count(*) AS n", "web.r", tail=" GROUP BY r.grp HAVING count_if(web.odd(r.id)) < 3"),
    _certified("r.grp, count(*) AS n", "web.r", tail=" GROUP BY r.grp ORDER BY count_if(web.odd(r.id)), r.grp LIMIT 3"),
    _certified("r.id, r.name", "web.r", tail=" ORDER BY coalesce(web.odd(r.id), true), r.id LIMIT 4"),
    _certified("r.id", "web.r", "web.odd(r.id) = web.odd(r.id + 1) OR web.odd(r.id) IS NULL"),
    _certified("r.id FROM web.r INTERSECT SELECT s.id", "web.s", "NOT coalesce(web.odd(s.id), false)"),
    _certified("x.id", "web.r x LEFT JOIN web.r y ON y.id = x.id + 1","y.id IS NULL"),
)  # fmt: skip


@dataclass(frozen=True)
class Function:
    """`web.odd(number)`. `fails`: some of its calls are refused whenever they are made."""

    fails: bool

    def spec(self) -> dict[str, object]:
        endpoint = {"path": "odd", "params": {"number": "{number}"}}
        return {"odd": {"arguments": {"number": "int"}, "returns": "boolean", "endpoint": endpoint}}

    def answer(self, asked: Asked) -> Reply:
        number = int(asked.first("number", ""))
        if self.fails and number % 13 == 5:
            return Reply(b"{}", status=400)
        return Reply(json.dumps({"value": number % 2 == 1}).encode())
