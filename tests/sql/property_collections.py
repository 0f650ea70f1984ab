"""Shapes of random expressions with arrays, maps, structs, lambdas and intervals, by the family of the result (see `property_scalars`)."""

from __future__ import annotations

#: By the family of the result: what makes one, with the families of its parts in braces.
SHAPES: dict[str, tuple[str, ...]] = {
    "list": (
        *("a", "a", "array(1, 2, NULL)", "array({whole}, {whole})", "array(i, i2, i, 5)", "array_distinct({list})"),
        *("array_union({list}, {list})", "array_intersect({list}, {list})", "array_except({list}, {list})"),
        *("array_remove({list}, {int})", "array_compact({list})", "sort_array({list})", "sort_array({list}, false)"),
        *("array_sort({list})", "reverse({list})", "concat({list}, {list})", "array_append({list}, {int})"),
        *("array_prepend({list}, {int})", "array_insert({list}, 2, {int})", "array_insert({list}, -3, {int})"),
        *("array_insert({list}, 5, 7)", "array_insert({list}, -1, i)", "array_repeat({int}, 3)"),
        *("slice({list}, 2, 2)", "slice({list}, -2, {few})", "slice({list}, {few}, 3)", "sequence(5, 1, -2)"),
        *("flatten({lists})", "transform({list}, x -> x + 1)", "transform({list}, (x, n) -> x * n)"),
        *("transform({list}, x -> x / i)", "filter({list}, x -> x > i)", "filter({list}, (x, n) -> n < 2)"),
        *("filter({list}, x -> {truth})", "transform({list}, x -> coalesce(x, {int}))", "map_values({map})"),
        *("zip_with({list}, {list}, (x, y) -> coalesce(x, 0) + y)", "if({truth}, {list}, {list})"),
        *("transform({lists}, z -> size(z))", "coalesce({list}, {list})", "{structs}.k", "map_values(mp)"),
        *("transform({lists}, z -> aggregate(z, 0, (s, x) -> s + coalesce(x, i)))",),
        *("transform({list}, x -> element_at(a, x))", "aggregate({list}, array(0), (s, x) -> array_append(s, x))"),
    ),
    "texts": (
        *("array({text}, {text})", "split({text}, 'a')", "array_distinct({texts})", "array_union({texts}, {texts})"),
        *("sort_array({texts})", "array_sort({texts})", "transform({texts}, x -> upper(x))", "map_keys(mp)"),
        *("filter({texts}, x -> x LIKE '%a%' OR x = s)", "array_except({texts}, {texts})", "reverse({texts})"),
        *("transform({list}, x -> CAST(x AS STRING))", "array_remove({texts}, {text})", "array_compact({texts})"),
        *("transform({texts}, (x, n) -> concat(x, s2, n))", "{structs}.n", "map_keys(transform_keys(mp, (k, v) -> upper(k)))"),
    ),
    "lists": (
        *("array(a, a)", "array(array(1, 2), NULL, a)"),
        *("array({list}, {list})", "array(array(1, 2), NULL, {list})", "array_distinct({lists})", "array_sort({lists})"),
        *("transform({lists}, z -> filter(z, x -> x > 1))", "reverse({lists})", "sort_array({lists}, false)"),
        *("array_union({lists}, {lists})", "array_repeat({list}, 2)", "transform({list}, x -> array(x, i))"),
        "transform({list}, x -> transform({list}, y -> x - y))",
    ),
    "doubles": (
        *("array({number}, d, d2)", "array(d, d2, f)", "transform(array(d, d2), x -> x * 2)", "array(d, NULL, 0.0D, -0.0D)"),
        *("array_compact({doubles})", "slice({doubles}, 1, 2)", "reverse({doubles})", "array_remove({doubles}, d)"),
        *("array_append({doubles}, d2)",),
    ),
    "map": (
        *("map(1, {int}, 2, {int})", "map(i, i2, -5, 7)", "map(i, {int})", "map_from_arrays({list}, {list})"),
        *("map_concat({map}, map(77, i))", "map_filter({map}, (k, v) -> k > v)", "transform_values({map}, (k, v) -> k + v)"),
        *("transform_keys({map}, (k, v) -> k + 1)", "transform_keys({map}, (k, v) -> v)", "map_from_entries({entries})"),
        *("map_zip_with({map}, {map}, (k, v, w) -> coalesce(v, 0) + w)", "map_concat({map}, {map})"),
        *("map_from_entries(map_entries({map}))", "map_from_arrays({list}, transform({list}, x -> i))"),
    ),
    "entries": (
        *("map_entries({map})", "array((1, i), (i, 2))", "array(struct(i, i2), NULL)", "arrays_zip({list}, {list})"),
        *("transform({list}, x -> (x, i))", "transform({list}, (x, n) -> struct(n, x))"),
    ),
    "structs": (
        *("array(st)", "array(st, st)", "array(named_struct('k', i, 'n', {text}), st)", "array_distinct({structs})"),
        *("sort_array({structs})", "filter({structs}, x -> x.k > 0)", "array_union({structs}, {structs})"),
        *("transform({list}, x -> named_struct('k', x, 'n', s))", "array_except({structs}, {structs})"),
    ),
    "struct": (
        *("st", "struct(i, s)", "named_struct('a', {int}, 'b', {list})", "struct({number}, {text})", "({int}, {date})"),
        *("struct(st.k, 1)", "(i AS p, {text} AS q)", "element_at({structs}, 1)", "struct({truth}, st, a)", "if(b, st, NULL)"),
        *("aggregate(a, (0 AS s, 0 AS n), (t, x) -> (t.s + x AS s, t.n + 1 AS n))", "array_max({structs})"),
        *("element_at({entries}, 1)", "struct(mp, {map})"),
    ),
    "int": (
        *("i", "i2", "i8", "1", "2", "5", "-5", "NULL", "size({list})", "element_at({list}, 2)", "get({list}, {few})"),
        *("array_max({list})", "array_min({list})", "aggregate({list}, 0, (s, x) -> s + x)", "element_at({map}, i)"),
        *("aggregate({list}, 1, (s, x) -> s + coalesce(x, i), s -> s * 2)", "{map}[{int}]", "{structs}[0].k", "mp[s]", "element_at(a, {few})", "a[{few}]"),
        *("size({map})", "cardinality({lists})", "named_struct('x', {int}).x", "try_element_at({list}, -1)", "element_at(mp, s)"),
        *("aggregate({texts}, 0, (s, x) -> s + length(x))", "size({texts})", "greatest({int}, {int})"),
    ),
    "place": ("array_position(a, i)", "array_position({list}, {int})", "array_position({texts}, {text})", "array_position({doubles}, d)", "array_position({lists}, {list})"),
    "inner": (
        *("array_join({texts}, '-')", "array_join({texts}, ',', 'x')", "array_join({list}, s, '?')", "array_max({texts})", "concat_ws('-', {texts})"),
        *("array_min({texts})", "element_at({texts}, 1)", "{structs}[0].n", "aggregate({texts}, '', (s, x) -> concat(s, x))"),
        *("array_max({doubles})", "array_min({doubles})", "aggregate({doubles}, 0D, (s, x) -> s + x)", "array_max({lists})"),
        *("map_values(transform_values(mp, (k, v) -> concat(k, v)))[0]",),
    ),
    "judged": (
        *("array_contains({list}, {int})", "array_contains({texts}, {text})", "arrays_overlap({list}, {list})"),
        *("arrays_overlap({texts}, {texts})", "exists({list}, x -> x > i)", "forall({list}, x -> x < i)"),
        *("exists({list}, x -> 10 / x > i)", "forall({texts}, x -> x IS NOT NULL)", "exists({texts}, x -> x = s)"),
        *("map_contains_key({map}, {int})", "map_contains_key(mp, {text})", "{list} = {list}", "{list} < {list}"),
        *("{struct} <=> {struct}", "st = st", "st < named_struct('k', i, 'n', s)", "(i, s) = (i2, s2)", "{lists} >= {lists}"),
        *("{list} <=> {list}", "x = x2", "x < x2", "x <=> x2", "x IN (x2, X'61')", "x >= X'80'", "a IN (array(1), {list})"),
        *("array_contains({doubles}, d)", "array_contains({lists}, {list})", "array_contains({structs}, st)", "nullif({list}, {list}) IS NULL"),
        *("transform({list}, x -> x IS NULL)[0]", "{list} IS NULL", "forall({structs}, x -> x.k = i OR x.n = s)"),
    ),
    "span": (
        *("ts - ts2", "dt - dt2", "tn - tn2", "ts - dt", "INTERVAL '3' DAY", "INTERVAL '-1 02:03:04.5' DAY TO SECOND"),
        *("INTERVAL 5 HOURS", "INTERVAL '7.25' SECOND", "make_dt_interval(1, 2, 3, 4.5)", "{span} + {span}", "-{span}"),
        *("{span} - {span}", "abs({span})", "{span} * {few}", "{few} * {span}", "{span} / {few}", "if({truth}, {span}, {span})"),
        *("try_add({span}, {span})", "try_multiply({span}, {whole})", "INTERVAL '12:30' HOUR TO MINUTE * 1.5", "dt - '2020-01-01'"),
        *("try_divide({span}, {few})", "try_subtract({span}, {span})", "INTERVAL '10' DAY / 7", "INTERVAL '1 day -2 hours'", "INTERVAL 3 HOURS * '1.5'", "NULL + INTERVAL 1 DAY"),
    ),
    "moved": (
        *("ts + {span}", "ts - {span}", "tn + {span}", "{span} + ts2", "dt + INTERVAL '3' HOURS", "dt - INTERVAL 2 WEEKS"),
        *("dt - INTERVAL '2-2' YEAR TO MONTH", "ts + INTERVAL 1 YEAR 2 MONTH", "INTERVAL 3 DAY + dt", "tn - INTERVAL '-7' MONTH"),
        *("dt + (INTERVAL 3 DAY - INTERVAL 1 DAY)", "dt - (INTERVAL 3 DAY + INTERVAL 1 HOUR)", "dt2 + -INTERVAL '1-1' YEAR TO MONTH"),
        *("dt + INTERVAL '1' DAY * 2", "{date} - INTERVAL '1:02:03' HOUR TO SECOND"),
    ),
    "counted": (
        *("extract(DAY FROM {span})", "extract(HOUR FROM {span})", "extract(MINUTES FROM {span})", "date_part('SECOND', {span})"),
        *("sign({span})", "extract(YEAR FROM -INTERVAL '2-1' YEAR TO MONTH)", "extract(MONTH FROM INTERVAL '-27' MONTH)"),
        *("width_bucket({number}, {number}, {number}, {few})", "width_bucket(d, -5, 10, 4)", "getbit({whole}, {few})", "getbit(l, 63)"),
        *("round({exact}, -2)", "bround({whole}, -1)", "round({whole}, -3)", "bround({exact}, -1)", "ceil({exact}, 1)", "floor({exact}, -1)"),
        *("ceil({whole}, -2)", "floor({whole}, 0)", "round({exact}, 30)", "round(i8, -2)", "pi() * d", "e()", "floor(m, 5)", "ceil(n, 3)"),
        *("{exact} + s", "s2 * {exact}", "{exact} / s", "{exact} - '2'", "pmod({exact}, '3')", "{exact} % s"),
        *("greatest({exact}, {exact})", "CAST(128 AS TINYINT)", "coalesce(i8, {exact}, l)"),
    ),
    "wide": (
        *("{exact} * n * 1.123456789123456789", "w + {exact}", "w - n", "k * {exact}", "w / {exact}", "k / m", "q * k", "z * z"),
        *("z / z", "w * w", "k + 0.1", "k % {exact}", "{exact} % w", "pmod(i8, {exact})", "pmod({exact}, w)", "pmod(q, w)"),
        *("try_multiply(w, w)", "try_add(k, k)", "try_divide(w, z)", "z + z", "z * k", "k - w", "w / w", "m / k", "try_mod(k, w)"),
    ),
    "asked": (
        *("{span} < {span}", "{span} = {span}", "{span} <=> {span}", "INTERVAL 1 YEAR > INTERVAL 11 MONTH", "{span} >= INTERVAL 1 DAY"),
        *("s IN ('a', i, 5)", "s IN ('1', i8, i16)", "i IN ('1', s, 5)", "{text} = X'61'", "x > {text}", "{text} IN ('5', {exact})"),
        *("{number} IN ('5', {exact}, 7)", "CAST(5 AS STRING) IN ('5', 5, 7L)", "{date} IN ('2020-01-01', dt2, dt)"),
    ),
    "either": (
        *("CASE WHEN {truth} THEN {text} WHEN {truth} THEN {whole} ELSE {whole} END", "coalesce('5', {whole}, {text})"),
        *("coalesce(x, s)", "coalesce(x, {text})", "if({truth}, x, {text})", "CASE WHEN {truth} THEN 1.5 WHEN {truth} THEN '7' ELSE {exact} END"),
    ),
}  # fmt: skip
