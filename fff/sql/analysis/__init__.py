"""What conditions say: what the engine can judge, what sources can be told, what may be left out.

In: conjuncts with their names bound.
Out: equality classes, engine predicates, qualifiers of requests, semi-join reductions.

    cases           What conditions say of the values of columns, case by case
    column_lineage  Which columns each part of a grouped SELECT over one block rests on
    conjuncts       Sorts the conjuncts of a block
    equalities      Equality classes by union-find, and the constants that hold for every member of one.
    grouped_select  How the engine groups the rows of a SELECT by itself, to show groups while rows come
    key_queries     The text of a query in FROM or behind IN, made to run by itself
    predicates      Which conjuncts the engine can evaluate exactly as Spark does
    priorities      What to see first, as people write it
    pushdown        Which qualifiers a statement's conditions put on its tables
    rewritten       A statement while it is written in other words
    semi_joins      What may be left out of each source without changing the result of the statement.
    soundness       What a partial answer is worth

The words are explained in docs/glossary.md.
"""
