"""What becomes tables in FROM: calls of functions that cost a request, computed keys, rows in the text, subqueries.

In: a `Statement` with calls of declared functions.
Out: a `Statement` without any, whose FROM has a table for each.

    computed_keys  Joins by a computed key
    expand         Puts the tables of functions in the places of their calls, so that they are planned
    find           Calls of functions that cost a request
    full_joins     FULL JOIN as a left join and an anti join
    guards         For which rows the value of a call matters
    joined_select  Which SELECTs come joined
    named_apart    Tables of one name, each under an alias of its own
    outer_apply    Calls made for the rows that everything else has left
    parents        Tables that are only looked up by a key, in a statement that binds none
    spelled_out    Rows that a statement spells out (VALUES, range, explode) as tables
    subqueries     Subqueries of WHERE that mean a semi or an anti join
    substitute     What stands in the text for a call whose function's table is in FROM

The words are explained in docs/glossary.md.
"""
