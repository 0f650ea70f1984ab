"""From an answer's bytes to Arrow batches.

In: a `Response`.
Out: batches of the columns asked for; bad records counted or told.

    bodies        Bodies to batches: finds the records in an answer, whatever its format
    fast          Records that are as declared, in one go
    infer         Columns from a first page, for tables declared without any.
    json          What the rest of the package uses of msgspec to read and write JSON.
    jsonpath      Places inside a JSON text: the subset of JSONPath that specs use
    members       Which members records have at all
    records       Records to Arrow columns: the fast route for records as declared
    redirected    Answers that redirects led to: whether they are still about what was asked for.
    streaming     Large bodies of lines (CSV, NDJSON) handed on piece by piece while they still arrive.
    text/         Formats that are text: CSV, XML, tables of HTML
    values        One value of an answer as a value of a declared column type.
    verdicts      What an answer says of itself although its status is that of a success

The words are explained in docs/glossary.md.
"""
