"""Groups before all tables have answered, to look at; never the answer.

In: complete and incomplete rows of a block.
Out: groups with what they rest on, and which of them are final.

    final_groups  Which of the groups on display can change no more.
    groups        Groups that no complete row has reached yet
    preview       Groups made without Spark as rows come, to show them

The words are explained in docs/glossary.md.
"""
