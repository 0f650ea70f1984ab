"""Only what reads: the kind of every node of a statement's tree decides, and what is not known to be part of a query is refused.

Spark executes whatever text it is given. So no list of what writes will do: a release of the parser, or of Spark, may know
one more. `fff.spark.bridge` asks Spark once more, in its own words, whether what it is to run is a query.
"""

from __future__ import annotations

from collections.abc import Sequence

from fff.errors import QueryError, Span, UnsupportedSQL
from fff.sql.syntax.foreign.counts import check_count
from fff.sql.syntax.foreign.written_types import check_type
from fff.sql.syntax.statement import Node, Token, TokenType, exp, text_span, token_span

_ONLY_READS = "FFF only reads"

#: Words that begin statements which are none of a query's.
_WRITING = frozenset(
    """INSERT UPDATE DELETE MERGE CREATE DROP ALTER TRUNCATE REPLACE GRANT REVOKE LOAD COPY OVERWRITE CACHE UNCACHE
    REFRESH ANALYZE MSCK VACUUM OPTIMIZE COMMENT EXPORT UNDROP RESTORE""".split()  # noqa: SIM905 - a list of words
)
_MANAGING = frozenset(
    """SET RESET USE SHOW DESCRIBE DESC EXPLAIN CALL PREPARE EXECUTE DECLARE BEGIN ADD LIST CLEAR REPAIR KILL PRAGMA COMMIT
    ROLLBACK ATTACH DETACH SUMMARIZE INSTALL""".split()  # noqa: SIM905 - a list of words
)
#: What a parser may make of parts of a SELECT that do more than read, or that Spark does not have.
_REFUSED: dict[type[Node], str] = {
    exp.Into: f"INTO is not supported: {_ONLY_READS}",
    exp.Lock: f"FOR UPDATE is not supported: {_ONLY_READS}",
    exp.QueryTransform: "TRANSFORM is not supported: FFF runs no scripts",
    exp.MatchRecognize: "MATCH_RECOGNIZE is not supported",
    exp.Connect: "CONNECT BY is not supported",
    exp.PreWhere: "PREWHERE is not supported",
    exp.Fetch: "FETCH is not supported: write LIMIT",
}
#: Functions that run a method of any Java class.
_REFLECTION = frozenset({"java_method", "reflect", "try_reflect"})
#: Behind these a statement may begin.
_BEFORE_A_STATEMENT = frozenset({TokenType.L_PAREN, TokenType.R_PAREN})
#: What often follows the first word of a statement that is no query.
_BEHIND_FOREIGN = frozenset(
    """INTO OVERWRITE TABLE TABLES VIEW FROM JAR JARS FILE FILES ARCHIVE DATA QUERY SELECT IMMEDIATE FUNCTION SCHEMA
    DATABASE CATALOG NAMESPACE OR TEMPORARY EXTERNAL""".split()  # noqa: SIM905 - a list of words
)
#: So many tokens behind the first word the parser stops at the latest, if nothing tells the statement otherwise.
_NEAR = 2
#: Text that stands for itself.
_QUOTED = frozenset({TokenType.STRING, TokenType.IDENTIFIER, TokenType.HINT})

#: Every kind of node of a query's tree, expressions and whole queries apart: the clauses, and what stands in them.
_PARTS = tuple(
    getattr(exp, name)
    for name in """
        Alias Aliases CTE From Identifier Join Star Table TableAlias TableSample Tuple Var Version Where
        With HistoricalData Group Cube Rollup GroupingSets Having Qualify Distinct Order Ordered Sort
        Cluster Distribute Limit LimitOptions Offset Pivot PivotAlias PivotAny UnpivotColumns Hint
        JoinHint Fetch Filter HavingMax IgnoreNulls RespectNulls WithinGroup WindowSpec Interval
        IntervalSpan TimeUnit AtTimeZone FromTimeZone Slice Lambda DataType DataTypeParam PseudoType
        ObjectIdentifier ColumnDef ColumnConstraint NotNullColumnConstraint CommentColumnConstraint
        CollateColumnConstraint CharacterSet JSON JSONPath JSONPathPart JSONKeyValue JSONValue
        JSONExtractQuote FormatJson OnCondition OverflowTruncateBehavior TranslateCharacters National
        Introducer Variadic XMLNamespace ExplodeOuter Nearest QueryTransform Schema
    """.split()  # noqa: SIM905 - a list of words
)
_KNOWN = (exp.Condition, exp.Query, exp.UDTF, *_PARTS)


def refuse_foreign(text: str, tokens: Sequence[Token]) -> None:
    """Refuse a statement by its first word, before any parsing. Raises UnsupportedSQL."""
    if _word(tokens[0]) in _WRITING | _MANAGING:
        raise _refusal(text, _word(tokens[0]), token_span(tokens[0]))


def foreign_before(text: str, tokens: Sequence[Token], stopped: Token) -> UnsupportedSQL | None:
    """The refusal for a statement within the text that no query can hold, where the parser stopped in it."""
    last = next(index for index, token in enumerate(tokens) if token is stopped)
    for index in range(1, last + 1):
        token, word = tokens[index], _word(tokens[index])
        before = tokens[index - 1].token_type
        if token.token_type in _QUOTED or word not in _WRITING | _MANAGING or before is TokenType.PIPE_GT:
            continue
        begins = index == last or before in _BEFORE_A_STATEMENT
        after = _word(tokens[index + 1]) if index + 1 < len(tokens) else ""
        # Many of these words are names as well: `max(comment)`.
        if (after in _BEHIND_FOREIGN and (begins or word == "INSERT")) or (begins and last - index <= _NEAR):
            return _refusal(text, word, token_span(token))
    return None


def check_reads(text: str, tokens: Sequence[Token], tree: Node) -> None:
    """Let a statement pass that is a query through and through.

    Raises:
        UnsupportedSQL: it writes, manages, or runs a program.
        QueryError: it is no query.
    """
    for node in tree.walk():
        _check(text, tokens, node)
    if not is_query(tree) or _is_joined(tree):
        raise _no_query(text, token_span(tokens[0]))
    for part in tree.find_all(exp.CTE, exp.SetOperation, exp.Lateral):
        for query in [part.this, part.expression] if isinstance(part, exp.SetOperation) else [part.this]:
            lateral = isinstance(part, exp.Lateral)
            if not is_query(query) and not (lateral and isinstance(query, exp.Func)):
                raise _no_query(text, text_span(query) or token_span(tokens[0]))
            if (not lateral and _is_joined(query)) or _is_joined(part):
                raise _no_query(text, text_span(query) or token_span(tokens[0]))


def is_query(node: Node) -> bool:
    """Whether a node, brackets aside, is a query itself; one with an alias or joins in brackets is an entry of FROM."""
    while isinstance(node, exp.Subquery | exp.Paren):
        node = node.this
        if isinstance(node, exp.Subquery) and (node.args.get("alias") or node.args.get("joins")):
            return False
    return isinstance(node, exp.Select | exp.SetOperation | exp.Values)


def _is_joined(node: Node) -> bool:
    """Whether a query goes on with a join behind its brackets, as only one in FROM does."""
    return isinstance(node, exp.Subquery | exp.SetOperation) and bool(node.args.get("joins"))


def _no_query(text: str, place: Span) -> QueryError:
    return QueryError(
        f'syntax error at "{text[place.start : place.end]}"',
        sql=text,
        span=place,
        hint="a query begins with SELECT, WITH, FROM or VALUES",
    )


def _check(text: str, tokens: Sequence[Token], node: Node) -> None:
    what = _REFUSED.get(type(node))
    if what is not None:
        raise UnsupportedSQL(what, sql=text, span=_word_place(tokens, what.split()[:1]) or text_span(node))
    _refuse_dialects(text, tokens, node)
    check_count(text, node)
    check_type(text, node)
    if not isinstance(node, _KNOWN):
        word = "INSERT" if isinstance(node, exp.MultitableInserts) else type(node).__name__.upper()
        place = _word_place(tokens, (word,)) or text_span(node) or token_span(tokens[0])
        raise _refusal(text, word, place)
    if isinstance(node, exp.Select) and not node.expressions:
        raise QueryError(
            "syntax error: SELECT names no column", sql=text, span=_word_place(tokens, ("SELECT",))
        )
    if isinstance(node, exp.Array) and "value_constructor" in node.args:
        opening = next((token_span(one) for one in tokens if one.token_type is TokenType.L_BRACKET), None)
        raise QueryError(
            "syntax error: nothing stands in brackets like these",
            sql=text,
            span=opening,
            hint="a name is written `name`, an array array(1, 2)",
        )
    if isinstance(node, exp.In) and not any(
        node.args.get(name) for name in ("expressions", "query", "unnest")
    ):
        raise QueryError(
            "syntax error: IN has no value to look for",
            sql=text,
            span=_empty_in(tokens) or text_span(node),
            hint="name one, or write false in its place",
        )
    if isinstance(node, exp.Anonymous):
        name = (node.this if isinstance(node.this, str) else node.this.name).lower()
        if name in _REFLECTION:
            raise UnsupportedSQL(
                f"{name} is not supported: it runs code of Java, and {_ONLY_READS}",
                sql=text,
                span=text_span(node.this) if isinstance(node.this, Node) else _word_place(tokens, (name,)),
            )
        if name == "identifier" and isinstance(node.parent, exp.Table) and not node.meta.get("called"):
            raise UnsupportedSQL(
                "IDENTIFIER is not supported as a table",
                sql=text,
                span=_word_place(tokens, (name,)),
                hint="write the name of the table itself",
            )


def _refuse_dialects(text: str, tokens: Sequence[Token], node: Node) -> None:
    """`DISTINCT ON (…)` of PostgreSQL and `t WITH (NOLOCK)` of SQL Server."""
    if isinstance(node, exp.Distinct) and node.args.get("on"):
        opens, ends = (TokenType.DISTINCT, TokenType.ON), TokenType.ON
        hint = "write SELECT … QUALIFY row_number() OVER (PARTITION BY … ORDER BY …) = 1"
    elif isinstance(node, exp.WithTableHint):
        opens, ends, hint = (TokenType.WITH, TokenType.L_PAREN), TokenType.R_PAREN, "leave it out"
    else:
        return
    kinds = [token.token_type for token in tokens]
    start = next(at for at in range(len(kinds)) if tuple(kinds[at : at + 2]) == opens)
    place = Span(tokens[start].start, tokens[kinds.index(ends, start)].end + 1)
    message = f"{text[place.start : place.end]} is not supported: Spark SQL does not have it"
    raise QueryError(message, sql=text, span=place, hint=hint)


def _refusal(text: str, word: str, place: Span) -> UnsupportedSQL:
    why = _ONLY_READS if word in _WRITING else "FFF runs queries only"
    return UnsupportedSQL(f"{word} is not supported: {why}", sql=text, span=place, hint="write a SELECT")


def _word(token: Token) -> str:
    return token.text.upper().split(" ")[0]


def _empty_in(tokens: Sequence[Token]) -> Span | None:
    """Where `IN ()` stands."""
    empty = [TokenType.IN, TokenType.L_PAREN, TokenType.R_PAREN]
    for at in range(len(tokens) - 2):
        if [token.token_type for token in tokens[at : at + 3]] == empty:
            return Span(tokens[at].start, tokens[at + 2].end + 1)
    return None


def _word_place(tokens: Sequence[Token], words: Sequence[str]) -> Span | None:
    """Where one of some words stands first."""
    wanted = {word.upper() for word in words}
    return next(
        (token_span(one) for one in tokens if one.token_type not in _QUOTED and _word(one) in wanted), None
    )
