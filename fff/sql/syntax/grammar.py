"""Expressions as Spark's grammar has them, where sqlglot's parser, made for many languages, reads otherwise.

    predicated  NOT predicated; a value; a value IS [NOT] …, [NOT] BETWEEN, IN, LIKE, ILIKE or RLIKE …
    value       operators, of those that bind as tightly the first one first: all comparisons alike, then `|`, `^`, `&`,
                shifts, `+ - ||`, `* / % div`
    unary       `- + ~` in front, COLLATE behind; the minus of `-5::int` is the number's

So the tree is right for whoever reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, TypeAlias

from fff.errors import UsageError
from fff.sql.syntax.foreign.clauses import check_bare, check_ended, check_order, check_piped, noted, opened
from fff.sql.syntax.foreign.counts import counted
from fff.sql.syntax.foreign.written_types import worded
from fff.sql.syntax.statement import SHIFT, SPARK, ErrorLevel, Node, SparkParser, Token, TokenType, exp

#: What makes a node of two operands.
_Maker: TypeAlias = "Callable[[Node | None, Node | None], Node]"


def _of(kind: type[exp.Expr], **how: object) -> _Maker:
    return lambda left, right: kind(this=left, expression=right, **how)


def _unsigned_shift(left: Node | None, right: Node | None) -> Node:
    if right is None:
        return exp.BitwiseRightShift(this=left)  # which is told to lack an operand
    return exp.Anonymous(this="shiftrightunsigned", expressions=[left, right])


def _pipe_set(parser: SparkParser, query: exp.Select) -> exp.Select:
    """`|> SET a = 1, b = 2`, as conditions in a select list: good for telling what is named."""
    parser._advance()  # noqa: SLF001 - what such parsers are made of
    query.select(exp.Star(), *parser._parse_csv(parser._parse_disjunction), append=False, copy=False)  # noqa: SLF001 - what such parsers are made of
    return parser._build_pipe_cte(query=query, expressions=[exp.Star()])  # noqa: SLF001 - what such parsers are made of


def _pipe_limit(parser: SparkParser, query: exp.Select) -> exp.Select:
    """`|> LIMIT 1 + 1` and `|> OFFSET 1`: of the rows that stand before them, sqlglot adds numbers up and takes nothing else."""
    limit, offset = parser._parse_limit(), parser._parse_offset()  # noqa: SLF001 - what such parsers are made of
    if query.args.get("limit") or query.args.get("offset"):
        query = parser._build_pipe_cte(query=query, expressions=[exp.Star()])  # noqa: SLF001 - what such parsers are made of
    query.set("limit", limit)
    query.set("offset", offset)
    return query


def _pipe_select(parser: SparkParser, query: exp.Select) -> exp.Select:
    """`|> SELECT a, b`, of which sqlglot takes the list, and drops what else there is."""
    select = parser._parse_select(consume_pipe=False)  # noqa: SLF001 - what such parsers are made of
    assert select is not None, "its word is there"
    check_piped(parser, select)
    query = query.select(*select.expressions, append=False)
    return parser._build_pipe_cte(query=query, expressions=[exp.Star()])  # noqa: SLF001 - what such parsers are made of


def _any(parser: SparkParser) -> Node | None:
    """`any(b)` and `any(DISTINCT b)`; ANY of a list behind LIKE is read elsewhere."""
    brackets = parser._curr.token_type is TokenType.L_PAREN  # noqa: SLF001 - what such parsers are made of
    if brackets and parser._next.token_type is TokenType.DISTINCT:  # noqa: SLF001 - what such parsers are made of
        parser._advance(2)  # noqa: SLF001 - what such parsers are made of
        inside = parser.expression(exp.Distinct(expressions=[parser._parse_disjunction()]))  # noqa: SLF001 - what such parsers are made of
        parser._match_r_paren()  # noqa: SLF001 - what such parsers are made of
        return parser.expression(exp.Any(this=exp.Paren(this=inside)))
    return parser.expression(exp.Any(this=parser._parse_primary()))  # noqa: SLF001 - what such parsers are made of


#: How tightly operators bind, and what they are.
_OPERATORS: dict[TokenType, tuple[int, _Maker]] = {
    TokenType.EQ: (0, _of(exp.EQ)),
    TokenType.NEQ: (0, _of(exp.NEQ)),
    TokenType.NULLSAFE_EQ: (0, _of(exp.NullSafeEQ)),
    TokenType.LT: (0, _of(exp.LT)),
    TokenType.LTE: (0, _of(exp.LTE)),
    TokenType.GT: (0, _of(exp.GT)),
    TokenType.GTE: (0, _of(exp.GTE)),
    TokenType.PIPE: (1, _of(exp.BitwiseOr)),
    TokenType.CARET: (2, _of(exp.BitwiseXor)),
    TokenType.AMP: (3, _of(exp.BitwiseAnd)),
    SHIFT: (4, _unsigned_shift),
    TokenType.PLUS: (5, _of(exp.Add)),
    TokenType.DASH: (5, _of(exp.Sub)),
    TokenType.DPIPE: (5, _of(exp.DPipe, safe=True)),
    TokenType.STAR: (6, _of(exp.Mul)),
    TokenType.SLASH: (6, _of(exp.Div, typed=SPARK.TYPED_DIVISION, safe=SPARK.SAFE_DIVISION)),
    TokenType.MOD: (6, _of(exp.Mod)),
    TokenType.DIV: (6, _of(exp.IntDiv)),
}
#: Those of two signs, which touch.
_DOUBLED: dict[TokenType, tuple[int, _Maker]] = {
    TokenType.LT: (4, _of(exp.BitwiseLeftShift)),
    TokenType.GT: (4, _of(exp.BitwiseRightShift)),
}
_PREDICATES = frozenset({TokenType.BETWEEN, TokenType.IN, TokenType.LIKE, TokenType.ILIKE, TokenType.RLIKE})


class Positive(exp.Unary, exp.Func):
    """`+x`, of which sqlglot drops the sign: of a text it makes a number, and it has a name of its own."""


class SparkGrammar(SparkParser):
    """A parser of Spark SQL."""

    PIPE_SYNTAX_TRANSFORM_PARSERS = {  # noqa: RUF012 - as sqlglot has it
        **{
            name: read
            for name, read in SparkParser.PIPE_SYNTAX_TRANSFORM_PARSERS.items()
            if name != "DISTINCT"
        },
        "SELECT": _pipe_select,
        "SET": _pipe_set,
        **dict.fromkeys(("LIMIT", "OFFSET"), _pipe_limit),
    }

    NO_PAREN_FUNCTION_PARSERS = {  # noqa: RUF012 - as sqlglot has it
        **SparkParser.NO_PAREN_FUNCTION_PARSERS,
        # Where sqlglot takes all of `any(b) = true` for what is inside.
        "ANY": _any,
    }

    QUERY_MODIFIER_PARSERS = {  # noqa: RUF012 - as sqlglot has it
        kind: noted(read) for kind, read in SparkParser.QUERY_MODIFIER_PARSERS.items()
    }

    FUNCTIONS = {**SparkParser.FUNCTIONS, "TIMEDIFF": SparkParser.FUNCTIONS["TIMESTAMPDIFF"]}  # noqa: RUF012 - as sqlglot has it

    def _parse_equality(self, parse_is: bool = True) -> Node | None:  # noqa: ARG002 - as sqlglot has it
        """What AND and OR connect."""
        if self._match(TokenType.NOT):
            negated = self._parse_equality()
            # `NOT x IS NULL` has another name than `x IS NOT NULL`.
            return self.expression(
                exp.Not(this=exp.Paren(this=negated) if isinstance(negated, exp.Is) else negated)
            )
        this = self._value()
        negates = self._match(TokenType.NOT)
        if self._match_set(_PREDICATES):
            made = self.RANGE_PARSERS[self._prev.token_type](self, this)
            return self._negate_range(made) if negates else made
        if negates:
            self._retreat(self._index - 1)
        elif self._match(TokenType.IS):
            return self._parse_is(this)
        return this

    def _parse_bitwise(self) -> Node | None:
        """An argument, of which sqlglot expects no condition."""
        return self._parse_equality() if self._curr.token_type is TokenType.NOT else self._value()

    def _value(self, least: int = 0) -> Node | None:
        left = self._parse_unary()
        while True:
            kind, twice = self._curr.token_type, self._next.token_type is self._curr.token_type
            doubled = twice and kind in _DOUBLED and self._curr.end + 1 == self._next.start
            found = _DOUBLED[kind] if doubled else _OPERATORS.get(kind)
            if found is None or found[0] < least:
                return left
            level, maker = found
            index = self._index
            self._advance(2 if doubled else 1)
            comments, right = self._prev_comments, self._value(level + 1)
            if right is None and kind is TokenType.DIV:  # a name
                self._retreat(index)
                return left
            left = self.expression(maker(left, right), comments=comments)

    def _parse_is(self, this: Node | None) -> Node | None:
        negates = self._match(TokenType.NOT)
        if self._match_text_seq("DISTINCT", "FROM"):
            kind = exp.NullSafeEQ if negates else exp.NullSafeNEQ
            return self.expression(kind(this=this, expression=self._value()))
        state = self._parse_null()
        if state is None and self._match_set((TokenType.TRUE, TokenType.FALSE)):
            state = exp.Boolean(this=self._prev.token_type is TokenType.TRUE)
        if state is None:
            self.raise_error("Expecting NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM")
        made = self.expression(exp.Is(this=this, expression=state))
        return self.expression(exp.Not(this=made)) if negates else made

    def _parse_between(self, this: Node | None) -> exp.Between:
        low = self._value()
        if not self._match(TokenType.AND):
            self.raise_error("Expecting AND")
        return self.expression(exp.Between(this=this, low=low, high=self._value()))

    def _parse_unary(self) -> Node | None:
        if self._match(TokenType.DASH):
            return self._negative()
        if self._match(TokenType.TILDE):
            return self.expression(exp.BitwiseNot(this=self._parse_unary()))
        if self._match(TokenType.PLUS):
            return self.expression(Positive(this=self._parse_unary()))
        node = self._parse_type()
        while node is not None and self._match(TokenType.COLLATE):
            node = self._parse_column_ops(
                self.expression(exp.Collate(this=node, expression=self._collation()))
            )
        return node

    def _negative(self) -> Node:
        """`-` and what stands behind it; of a number the sign is nearest, before any `::`."""
        is_number = self._curr.token_type is TokenType.NUMBER
        operand = self._parse_unary()
        number = operand
        if is_number:
            while (
                number is not None and not isinstance(number, exp.Literal) and not number.meta.get("suffix")
            ):
                number = number.this
        around, name = (
            (None, None) if number is None or number is operand else (number.parent, number.arg_key)
        )
        negative = self.expression(exp.Neg(this=number))
        if around is None or name is None or operand is None:
            return negative
        around.set(name, negative)
        return operand

    def build_cast(self, strict: bool, **how: object) -> Node:
        """A cast, which is told from the letter of `5L` where it is none."""
        made = super().build_cast(strict, **how)
        made.meta["suffix"] = self._prev.start == self._tokens[self._index - 2].start
        return made

    def _parse_function_call(self, *how: Any, **named: Any) -> Node | None:
        """A call; also one of a function that a text names, `IDENTIFIER('f')(x)`, which has no words between its arguments."""
        before, word = self._prev.token_type, self._curr
        made = super()._parse_function_call(*how, **named)
        names = word.token_type is TokenType.VAR and word.text.lower() == "identifier"
        if not isinstance(made, exp.Anonymous) or not names or before is TokenType.DOT:
            return made
        if not self._match(TokenType.L_PAREN):
            return made
        made.meta["called"] = True
        if self._curr.token_type is not TokenType.R_PAREN:
            for arg in self._parse_function_args():
                if arg.is_star:
                    self.raise_error("Expecting values")  # of stars only calls by a plain name are made
                made.append("expressions", arg)
        self._match_r_paren()
        return self._parse_window(made)

    def _parse_function_args(self, alias: bool = False) -> list[Node]:
        """The arguments of a call; the names of those of `struct(a x)` need no AS."""
        if alias and self._tokens[self._index - 2].text.lower() == "struct":
            return self._parse_csv(self._parse_expression)
        return super()._parse_function_args(alias)

    #: Where a query ended with a clause behind which it cannot go on, and the word of that.
    _ended: tuple[int, Token] | None = None

    def _parse_query_modifiers(self, this: Any) -> Any:
        began = self._prev.end
        made = super()._parse_query_modifiers(this)
        if isinstance(made, exp.Values) and (joins := made.args.pop("joins", None)):
            made = exp.Table(this=made, joins=joins)  # as of those that have an alias
        last = check_order(self, made, began) if isinstance(made, self.MODIFIABLES) else None
        if last is not None:
            self._ended = self._index, last
        return made

    def _parse_from(self, joins: bool = False, *how: bool, **named: bool) -> exp.From | None:
        """FROM with its word; with `joins` one that stands in front of SELECT, or has none."""
        word = self._curr
        made = opened(super()._parse_from(joins, *how, **named), word)
        if made is not None and joins:
            made.meta["leads"] = True
            check_bare(self)
        return made

    def _parse_join(self, *how: Any, **named: Any) -> exp.Join | None:
        word = self._curr
        return opened(super()._parse_join(*how, **named), word)

    def _parse_lateral(self) -> exp.Lateral | None:
        word = self._curr
        return opened(super()._parse_lateral(), word)

    def parse_set_operation(self, this: Node | None, *how: bool, **named: bool) -> exp.SetOperation | None:
        """UNION and its like. A pipe in front of it ends a query."""
        ended, piped = self._ended, self._prev.token_type is TokenType.PIPE_GT
        goes_on = self._curr.token_type in self.SET_OPERATIONS and not piped
        if goes_on and ended is not None and ended[0] == self._index:
            check_ended(self, ended[1])
        return super().parse_set_operation(this, *how, **named)

    def _parse_pipe_syntax_query(self, query: exp.Query) -> exp.Query | None:
        if self._ended is not None and self._ended[0] == self._index:
            check_ended(self, self._ended[1])
        made = super()._parse_pipe_syntax_query(query)
        if made is not None:
            made.meta["piped"] = True
        return made

    def _parse_limit(self, this: Node | None = None, *how: bool, **named: bool) -> Node | None:
        return counted(self, lambda: super(SparkGrammar, self)._parse_limit(this, *how, **named))

    def _parse_offset(self, this: Node | None = None) -> Node | None:
        return counted(self, lambda: super(SparkGrammar, self)._parse_offset(this))

    def _parse_type(self, *how: bool, **named: bool) -> Node | None:
        """A value; the type of `DATE '2020-01-01'::string` is that of the text, and the cast of what it makes."""
        is_constant = self._next.token_type is TokenType.STRING
        made = super()._parse_type(*how, **named)
        if not is_constant or type(made) is not exp.Cast or isinstance(made.this, exp.Literal):
            return made
        outer: Node = made.this
        text: Node | None = outer
        while isinstance(text, exp.Expr) and not isinstance(text, exp.Literal):
            text = text.this
        if not isinstance(text, exp.Literal) or text.parent is None or text.arg_key is None:
            return made
        around, name = text.parent, text.arg_key
        outer.pop()
        made.set("this", text)
        around.set(name, made)
        return outer

    def _parse_types(self, *how: bool, **named: bool) -> Node | None:
        def read() -> Node | None:
            if not named.get("check_func") and self._match_text_seq(
                "VOID"
            ):  # a name where there may be values
                return self.expression(exp.DataType(this=exp.DType.NULL))
            return super(SparkGrammar, self)._parse_types(*how, **named)

        return worded(self, read)

    def _parse_with(self, skip_with_token: bool = False) -> exp.With | None:
        made = super()._parse_with(skip_with_token)
        plain = [] if made is None or made.args.get("recursive") else made.expressions
        if any(cte.args["alias"].meta.get("leveled") for cte in plain):
            self.raise_error("Expecting RECURSIVE behind WITH, for MAX RECURSION LEVEL")
        return made

    def _parse_table_alias(self, alias_tokens: Collection[TokenType] | None = None) -> exp.TableAlias | None:
        """An alias; behind the name of a query of WITH also how deep it may recur, which is for Spark."""
        made = super()._parse_table_alias(alias_tokens)
        of_with = alias_tokens is self.ID_VAR_TOKENS
        if made is not None and of_with and self._match_text_seq("MAX", "RECURSION", "LEVEL"):
            made.meta["leveled"] = True
            if not self._match(TokenType.NUMBER):
                self.raise_error("Expecting a number")
        return made

    def _collation(self) -> Node:
        """The name of a collation, which is no column."""
        parts: list[Node] = []
        while not parts or self._match(TokenType.DOT):
            part = self._parse_id_var(any_token=bool(parts))
            if part is None:
                self.raise_error("Expecting the name of a collation")
                break
            parts.append(part)
        if len(parts) > 1:
            return exp.Dot.build(parts)
        return parts[0] if parts[0].args.get("quoted") else exp.var(parts[0].name)

    def _replace_lambda(self, node: Node | None, expressions: list[Node]) -> Node | None:
        """The body of a lambda with its variables, which may be spelled in any case."""
        variables = {one.name.lower() for one in expressions}
        spelled = {column.parts[0].name for column in node.find_all(exp.Column)} if node is not None else ()
        found: list[Node] = [exp.to_identifier(name) for name in spelled if name.lower() in variables]
        return super()._replace_lambda(node, found)

    def _parse_pivot_aggregation(self) -> Node | None:
        """What stands in PIVOT in front of FOR: any expression of aggregates, where sqlglot knows only these."""
        item = self._parse_disjunction()
        if item is None or self._match(TokenType.FOR, advance=False):
            return item
        return self._parse_alias(item)

    def _parse_derived_table_values(self, allow_value_synonym: bool = False) -> exp.Values | None:
        """`VALUES (…), (…)`, with the place of the word, of which sqlglot keeps nothing."""
        word = next(
            (one.start for one in (self._curr, self._next) if one.token_type is TokenType.VALUES), None
        )
        made = super()._parse_derived_table_values(allow_value_synonym)
        if made is not None:
            made.meta["word"] = word
        return made

    def _parse_value(self, values: bool = True) -> exp.Tuple | None:
        """A row of VALUES; brackets or a `struct(…)` that stand alone in it are the row themselves, as in Spark."""
        began = self._index
        made = super()._parse_value(values)
        if made is not None and not made.expressions:
            self.raise_error("Expecting values", self._prev)
        alone = made.expressions[0].unnest() if made is not None and len(made.expressions) == 1 else None
        while self._tokens[began].token_type is TokenType.L_PAREN:
            began += 1
        if isinstance(alone, exp.Struct) and self._tokens[began].text.lower() == "struct":
            return exp.Tuple(expressions=[getattr(one, "expression", one) for one in alone.expressions])
        return exp.Tuple(expressions=alone.expressions) if isinstance(alone, exp.Tuple) else made

    def _parse_subquery(self, this: Node | None, parse_alias: bool = True) -> exp.Subquery | None:
        """A query in brackets; behind it a sample, and behind that the alias, which sqlglot expects in front of the sample."""
        made = super()._parse_subquery(this, parse_alias=parse_alias)
        if made is not None and parse_alias and made.args.get("sample") and not made.args.get("alias"):
            made.set("alias", self._parse_table_alias())
        return made


def parser() -> SparkParser:
    """A parser of Spark SQL that raises ParseError at the first mistake.

    Raises UsageError where sqlglot is installed compiled, which makes its parser one that nobody can extend.
    """
    try:
        return SparkGrammar(dialect=SPARK, error_level=ErrorLevel.IMMEDIATE)
    except TypeError as error:
        raise UsageError(
            f"sqlglot's compiled parser is of no use here ({error})",
            hint="remove it, and the one in Python is used: pip uninstall sqlglotc",
        ) from error
