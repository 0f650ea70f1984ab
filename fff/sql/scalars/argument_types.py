"""Types that Spark's functions never take. Written by `python -m fff.spark`; do not edit.

`name:refused/refused:value` is a call of a function with as many arguments as there are places, the letters of the types
(`fff.sql.refusals.types.kinds`) that are refused in each of them, and that of its values, if it is one whatever is given.
`-` stands for no argument.
"""

SPARK_VERSION = "4.3.0"
ARGUMENT_TYPES = """
abs:bxtTnapr:? acos:bxtTnaprDM:d acosh:bxtTnaprDM:d add_months:byhilfdmxaprDM/bxtTnaprDM:t
aes_decrypt:byhilfdmtTnaprDM/byhilfdmtTnaprDM:x aes_decrypt:byhilfdmtTnaprDM/byhilfdmtTnaprDM/apr:x
aes_decrypt:byhilfdmtTnaprDM/byhilfdmtTnaprDM/apr/apr:x
aes_decrypt:byhilfdmtTnaprDM/byhilfdmtTnaprDM/apr/apr/byhilfdmtTnaprDM:x
aes_encrypt:byhilfdmtTnaprDM/byhilfdmtTnaprDM:x aes_encrypt:byhilfdmtTnaprDM/byhilfdmtTnaprDM/apr:x
aes_encrypt:byhilfdmtTnaprDM/byhilfdmtTnaprDM/apr/apr:x
aes_encrypt:byhilfdmtTnaprDM/byhilfdmtTnaprDM/apr/apr/byhilfdmtTnaprDM:x
aes_encrypt:byhilfdmtTnaprDM/byhilfdmtTnaprDM/apr/apr/byhilfdmtTnaprDM/byhilfdmtTnaprDM:x
any:yhilfdmxtTnaprDM:b approx_count_distinct::l approx_percentile:bxapr/bxtTnprDM:?
approx_percentile:bxapr/bxtTnprDM/bfdmsSxtTnaprDM:? approx_top_k::a approx_top_k:/bxtTnaprDM:a
approx_top_k:/bxtTnaprDM/bxtTnaprDM:a approx_top_k_accumulate::r
approx_top_k_accumulate:/bxtTnaprDM:r array::a array:-:a array_agg::a
array_append:byhilfdmsSxtTnprDM/:a array_compact:byhilfdmsSxtTnprDM:a
array_contains:byhilfdmsSxtTnprDM/p:b array_distinct:byhilfdmsSxtTnprDM:a
array_except:byhilfdmsSxtTnprDM/byhilfdmsSxtTnprDM:a
array_intersect:byhilfdmsSxtTnprDM/byhilfdmsSxtTnprDM:a
array_join:byhilfdmsSxtTnprDM/byhilfdmxtTnaprDM:s
array_join:byhilfdmsSxtTnprDM/byhilfdmxtTnaprDM/byhilfdmxtTnaprDM:s array_max:byhilfdmsSxtTnprDM:?
array_min:byhilfdmsSxtTnprDM:? array_position:byhilfdmsSxtTnprDM/p:l
array_prepend:byhilfdmsSxtTnprDM/:a array_remove:byhilfdmsSxtTnprDM/p:a
array_repeat:/byhlfdmsSxtTnaprDM:a array_size:byhilfdmsSxtTnprDM:i
array_union:byhilfdmsSxtTnprDM/byhilfdmsSxtTnprDM:a
arrays_overlap:byhilfdmsSxtTnprDM/byhilfdmsSxtTnprDM:b arrays_zip:byhilfdmsSxtTnprDM:a
arrays_zip:byhilfdmsSxtTnprDM/byhilfdmsSxtTnprDM:a
arrays_zip:byhilfdmsSxtTnprDM/byhilfdmsSxtTnprDM/byhilfdmsSxtTnprDM:a arrays_zip:-:a ascii:apr:i
asin:bxtTnaprDM:d asinh:bxtTnaprDM:d assert_true:yhilfdmsSxtTnaprDM:?
assert_true:yhilfdmsSxtTnaprDM/apr:? atan:bxtTnaprDM:d atan2:bxtTnaprDM/bxtTnaprDM:d
atanh:bxtTnaprDM:d avg:bxtnapr:? base64:byhilfdmtTnaprDM:s bigint:xtnapr:l bin:bxtTnaprDM:s
binary:byhilfdmtTnaprDM:x bit_and:bfdmsSxtTnaprDM:? bit_count:fdmsSxtTnaprDM:i
bit_get:bfdmsSxtTnaprDM/bxtTnaprDM:y bit_length:apr:i bit_or:bfdmsSxtTnaprDM:?
bit_xor:bfdmsSxtTnaprDM:? bitmap_and_agg:byhilfdmsStTnaprDM:x bitmap_bit_position:bxtTnaprDM:l
bitmap_bucket_number:bxtTnaprDM:l bitmap_construct_agg:bxtTnaprDM:x bitmap_count:byhilfdmsStTnaprDM:l
bitmap_or_agg:byhilfdmsStTnaprDM:x bool_and:yhilfdmxtTnaprDM:b bool_or:yhilfdmxtTnaprDM:b
boolean:xtTnaprDM:b bround:bxtTnaprDM:? bround:bxtTnaprDM/bxtTnaprDM:? btrim:apr:s btrim:apr/apr:s
cardinality:byhilfdmsSxtTnrDM:i cbrt:bxtTnaprDM:d ceil:bxtTnaprDM:? ceil:/:m ceiling:bxtTnaprDM:?
ceiling:/:m char:bxtTnaprDM:s char_length:apr:i character_length:apr:i chr:bxtTnaprDM:s
collation:byhilfdmxtTnaprDM:s collect_list::a collect_set:p:a collect_union:byhilfdmsSxtTnprDM:a
concat:pr:? concat:-:s concat_ws:apr:s concat_ws:apr/pr/pr:s contains:apr/apr:b
conv:apr/bxtTnaprDM/bxtTnaprDM:s convert_timezone:apr/byhilfdmxaprDM:n
convert_timezone:apr/apr/byhilfdmxaprDM:n corr:bxtTnaprDM/bxtTnaprDM:d cos:bxtTnaprDM:d
cosh:bxtTnaprDM:d cot:bxtTnaprDM:d count::l count_if:yhilfdmxtTnaprDM:l counter_diff:bsSxtTnaprDM:?
counter_diff:bsSxtTnaprDM/byhilfdmsSxtaprDM:? covar_pop:bxtTnaprDM/bxtTnaprDM:d
covar_samp:bxtTnaprDM/bxtTnaprDM:d crc32:byhilfdmtTnaprDM:l csc:bxtTnaprDM:d cume_dist:-:d
curdate:-:t current_catalog:-:s current_database:-:s current_date:-:t current_path:-:s
current_schema:-:s current_timestamp:-:T current_timezone:-:s current_user:-:s date:byhilfdmxaprDM:t
date_add:byhilfdmxaprDM/blfdmxtTnaprDM:t date_add:/bxtTnaprDM/byhilfdmxaprDM:?
date_diff:byhilfdmxaprDM/byhilfdmxaprDM:i date_diff:/byhilfdmxaprDM/byhilfdmxaprDM:l
date_format:byhilfdmxaprDM/apr:s date_from_unix_date:bxtTnaprDM:t
date_sub:byhilfdmxaprDM/blfdmxtTnaprDM:t date_trunc:apr/byhilfdmxaprDM:T
dateadd:byhilfdmxaprDM/blfdmxtTnaprDM:t dateadd:/bxtTnaprDM/byhilfdmxaprDM:?
datediff:byhilfdmxaprDM/byhilfdmxaprDM:i datediff:/byhilfdmxaprDM/byhilfdmxaprDM:l
day:byhilfdmxaprDM:i dayname:byhilfdmxaprDM:s dayofmonth:byhilfdmxaprDM:i dayofweek:byhilfdmxaprDM:i
dayofyear:byhilfdmxaprDM:i decimal:xtnapr:m decode:byhilfdmtTnaprDM/apr:s decode:p/p/aprDM:?
degrees:bxtTnaprDM:d dense_rank::i dense_rank:-:i double:xtnaprDM:d e:-:d
element_at:byhilfdmsSxtTnrDM/:? elt:bxtTnaprDM/apr:? elt:bxtTnaprDM/apr/apr:s encode:apr/apr:x
endswith:apr/apr:b every:yhilfdmxtTnaprDM:b exp:bxtTnaprDM:d explode:byhilfdmsSxtTnrDM:?
explode_outer:byhilfdmsSxtTnrDM:? expm1:bxtTnaprDM:d factorial:bxtTnaprDM:l find_in_set:apr/apr:i
flatten:byhilfdmsSxtTnprDM:a float:xtnaprDM:f floor:bxtTnaprDM:? floor:/:m
format_number:bsSxtTnaprDM/byhlfdmxtTnaprDM:s format_string:apr:s format_string:apr//:s
from_base32:apr:x from_unixtime:bxtTnaprDM:s from_unixtime:bxtTnaprDM/apr:s
from_utc_timestamp:byhilfdmxaprDM/apr:T get:byhilfdmsSxtTnprDM/bxtTnaprDM:?
get_json_object:byhilfdmxtTnaprDM/byhilfdmxtTnaprDM:s getbit:bfdmsSxtTnaprDM/bxtTnaprDM:y grouping::y
grouping_id::l grouping_id:-:l hash:p:i hash:p/p/p:i hex:apr:s hll_sketch_agg:byhfdmtTnaprDM:x
hll_sketch_agg:byhfdmtTnaprDM/byhlfdmsSxtTnaprDM:x hll_sketch_estimate:byhilfdmsStTnaprDM:l
hll_union:byhilfdmsStTnaprDM/byhilfdmsStTnaprDM:x
hll_union:byhilfdmsStTnaprDM/byhilfdmsStTnaprDM/yhilfdmsSxtTnaprDM:x
hll_union_agg:byhilfdmsStTnaprDM:x hll_union_agg:byhilfdmsStTnaprDM/yhilfdmsSxtTnaprDM:x
hmac:byhilfdmtTnaprDM/byhilfdmtTnaprDM:x hmac:byhilfdmtTnaprDM/byhilfdmtTnaprDM/apr:x
hour:byhilfdmxaprDM:i hypot:bxtTnaprDM/bxtTnaprDM:d if:yhilfdmsSxtTnaprDM//:? initcap:apr:s
input_file_block_length:-:l input_file_block_start:-:l input_file_name:-:s instr:apr/apr:i
instr:apr/apr/bxtTnaprDM:i instr:apr/apr/bxtTnaprDM/bxtTnaprDM:i int:xtnapr:i is_valid_utf8:apr:b
is_valid_variant:byhilfdmsSxtTnaprDM:b is_variant_null:byhilfdmsSxtTnaprDM:b isnan:bxtTnaprDM:b
isnotnull::b isnull::b jaro_winkler_similarity:apr/apr:d json_array_length:byhilfdmxtTnaprDM:i
json_object_keys:byhilfdmxtTnaprDM:a kll_merge_agg_bigint:byhilfdmsStTnaprDM:x
kll_merge_agg_double:byhilfdmsStTnaprDM:x kll_merge_agg_float:byhilfdmsStTnaprDM:x
kll_sketch_agg_bigint:bfdmsSxtTnaprDM:x kll_sketch_agg_double:byhilmsSxtTnaprDM:x
kll_sketch_agg_float:byhildmsSxtTnaprDM:x kll_sketch_get_n_bigint:byhilfdmtTnaprDM:l
kll_sketch_get_n_double:byhilfdmtTnaprDM:l kll_sketch_get_n_float:byhilfdmtTnaprDM:l
kll_sketch_get_quantile_bigint:byhilfdmtTnaprDM/bxtTnprDM:?
kll_sketch_get_quantile_double:byhilfdmtTnaprDM/bxtTnprDM:?
kll_sketch_get_quantile_float:byhilfdmtTnaprDM/bxtTnprDM:?
kll_sketch_get_rank_bigint:byhilfdmtTnaprDM/bxtTnprDM:?
kll_sketch_get_rank_double:byhilfdmtTnaprDM/bxtTnprDM:?
kll_sketch_get_rank_float:byhilfdmtTnaprDM/bxtTnprDM:?
kll_sketch_merge_bigint:byhilfdmtTnaprDM/byhilfdmtTnaprDM:x
kll_sketch_merge_double:byhilfdmtTnaprDM/byhilfdmtTnaprDM:x
kll_sketch_merge_float:byhilfdmtTnaprDM/byhilfdmtTnaprDM:x
kll_sketch_to_string_bigint:byhilfdmtTnaprDM:s kll_sketch_to_string_double:byhilfdmtTnaprDM:s
kll_sketch_to_string_float:byhilfdmtTnaprDM:s kurtosis:bxtTnaprDM:d last_day:byhilfdmxaprDM:t
lcase:apr:s left:apr/bxtTnaprDM:? len:apr:i length:apr:i levenshtein:apr/apr:i
levenshtein:apr/apr/bxtTnaprDM:i listagg:apr:? listagg:apr/apr:? ln:bxtTnaprDM:d localtimestamp:-:n
locate:apr/apr:i locate:apr/apr/bxtTnaprDM:i log:bxtTnaprDM:d log:bxtTnaprDM/bxtTnaprDM:d
log10:bxtTnaprDM:d log1p:bxtTnaprDM:d log2:bxtTnaprDM:d lower:apr:s lpad:apr/bxtTnaprDM:?
lpad:apr/bxtTnaprDM/apr:s ltrim:apr:s ltrim:apr/apr:s luhn_check:apr:b
make_date:bxtTnaprDM/bxtTnaprDM/bxtTnaprDM:t make_dt_interval:bxtTnaprDM:D
make_dt_interval:bxtTnaprDM/bxtTnaprDM:D make_dt_interval:bxtTnaprDM/bxtTnaprDM/bxtTnaprDM:D
make_dt_interval:bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/bxtTnaprDM:D make_dt_interval:-:D
make_interval:bxtTnaprDM:? make_interval:bxtTnaprDM/bxtTnaprDM:?
make_interval:bxtTnaprDM/bxtTnaprDM/bxtTnaprDM:?
make_interval:bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/bxtTnaprDM:?
make_interval:bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/bxtTnaprDM:?
make_interval:bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/bxtTnaprDM:?
make_interval:bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/bxtTnaprDM:?
make_timestamp:byhilfdmsSxTnaprDM:T make_timestamp:byhilfdmsSxTnaprDM/byhilfdmsSxtTnaprDM:T
make_timestamp:byhilfdmsSxTnaprDM/byhilfdmsSxtTnaprDM/byhilfdmxtTnaprDM:T
make_timestamp:bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/bxtTnaprDM:T
make_timestamp:bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/apr:T
make_timestamp_ltz:byhilfdmsSxTnaprDM/byhilfdmsSxtTnaprDM:T
make_timestamp_ltz:byhilfdmsSxTnaprDM/byhilfdmsSxtTnaprDM/byhilfdmxtTnaprDM:T
make_timestamp_ltz:bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/bxtTnaprDM:T
make_timestamp_ltz:bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/apr:T
make_timestamp_ntz:byhilfdmsSxTnaprDM/byhilfdmsSxtTnaprDM:n
make_timestamp_ntz:bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/bxtTnaprDM:n
make_valid_utf8:apr:s make_ym_interval:bxtTnaprDM:M make_ym_interval:bxtTnaprDM/bxtTnaprDM:M
make_ym_interval:-:M map:-:p map_concat:byhilfdmsSxtTnarDM:p
map_concat:byhilfdmsSxtTnarDM/byhilfdmsSxtTnarDM:p
map_concat:byhilfdmsSxtTnarDM/byhilfdmsSxtTnarDM/byhilfdmsSxtTnarDM:p map_concat:-:p
map_entries:byhilfdmsSxtTnarDM:a map_from_arrays:byhilfdmsSxtTnprDM/byhilfdmsSxtTnprDM:p
map_from_entries:byhilfdmsSxtTnprDM:p map_keys:byhilfdmsSxtTnarDM:a map_values:byhilfdmsSxtTnarDM:a
mask:byhilfdmxtTnaprDM:s mask:byhilfdmxtTnaprDM/byhilfdmxtTnaprDM:s
mask:byhilfdmxtTnaprDM/byhilfdmxtTnaprDM/byhilfdmxtTnaprDM:s
mask:byhilfdmxtTnaprDM/byhilfdmxtTnaprDM/byhilfdmxtTnaprDM/byhilfdmxtTnaprDM:s
mask:byhilfdmxtTnaprDM/byhilfdmxtTnaprDM/byhilfdmxtTnaprDM/byhilfdmxtTnaprDM/byhilfdmxtTnaprDM:s
max:p:? max_by:/p:? max_by:/p/bxtTnaprDM:a md5:byhilfdmtTnaprDM:s mean:bxtnapr:? median:bxapr:?
min:p:? min_by:/p:? min_by:/p/bxtTnaprDM:a minute:byhilfdmxaprDM:i mod:bxtTnaprDM/bxtTnaprDM:?
monotonically_increasing_id:-:l month:byhilfdmxaprDM:i monthname:byhilfdmxaprDM:s
months_between:byhilfdmxaprDM/byhilfdmxaprDM:d
months_between:byhilfdmxaprDM/byhilfdmxaprDM/yhilfdmxtTnaprDM:d named_struct:-:r
nanvl:bxtTnaprDM/bxtTnaprDM:? negative:bxtTnapr:? next_day:byhilfdmxaprDM/apr:t now:-:T
nth_value:/bxtTnaprDM:? ntile:byhlfdmSxtTnaprDM:i ntile:-:i nullifzero:bxtTnaprDM:?
octet_length:apr:i overlay:apr/apr/bxtTnaprDM:? overlay:apr/apr/bxtTnaprDM/bxtTnaprDM:?
parse_json:byhilfdmxtTnaprDM:? parse_url:byhilfdmxtTnaprDM/byhilfdmxtTnaprDM:s
parse_url:byhilfdmxtTnaprDM/byhilfdmxtTnaprDM/byhilfdmxtTnaprDM:s percent_rank::d percent_rank:-:d
percentile:bxapr/:? percentile:bxapr/bxprDM/bfdmsSxaprDM:? percentile_approx:bxapr/bxtTnprDM:?
percentile_approx:bxapr/bxtTnprDM/bfdmsSxtTnaprDM:? pi:-:d pmod:bxtTnaprDM/bxtTnaprDM:?
position:apr/apr:i position:apr/apr/bxtTnaprDM:i positive:bxtTnapr:? pow:bxtTnaprDM/bxtTnaprDM:d
power:bxtTnaprDM/bxtTnaprDM:d printf:apr:s printf:apr//:s quarter:byhilfdmxaprDM:i quote:apr:s
radians:bxtTnaprDM:d raise_error:apr:? rand:byhfdmsSxtTnaprDM:d rand:-:d randn:byhfdmsSxtTnaprDM:d
randn:-:d random:byhfdmsSxtTnaprDM:d random:-:d randstr:bxtTnaprDM:s rank::i rank:-:i
regexp:apr/apr:b regexp_count:apr/apr:i regexp_extract:apr/apr:s regexp_extract:apr/apr/bxtTnaprDM:s
regexp_extract_all:apr/apr:a regexp_extract_all:apr/apr/bxtTnaprDM:a regexp_instr:apr/apr:i
regexp_instr:apr/apr/bxtTnaprDM:i regexp_like:apr/apr:b regexp_replace:apr/apr/apr:s
regexp_replace:apr/apr/apr/bxtTnaprDM:s regexp_substr:apr/apr:s regr_avgx:bxtTnaprDM/bxtTnaprDM:?
regr_avgy:bxtTnaprDM/bxtTnaprDM:? regr_count:bxtTnaprDM/bxtTnaprDM:l
regr_intercept:bxtTnaprDM/bxtTnaprDM:d regr_r2:bxtTnaprDM/bxtTnaprDM:d
regr_slope:bxtTnaprDM/bxtTnaprDM:d regr_sxx:bxtTnaprDM/bxtTnaprDM:d regr_sxy:bxtTnaprDM/bxtTnaprDM:d
regr_syy:bxtTnaprDM/bxtTnaprDM:d repeat:apr/bxtTnaprDM:s replace:apr/apr:s replace:apr/apr/apr:s
reverse:pr:? right:apr/bxtTnaprDM:s rint:bxtTnaprDM:d rlike:apr/apr:b round:bxtTnaprDM:?
round:bxtTnaprDM/bxtTnaprDM:? row_number:-:i rpad:apr/bxtTnaprDM:? rpad:apr/bxtTnaprDM/apr:s
rtrim:apr:s rtrim:apr/apr:s schema_of_csv:byhilfdmxtTnaprDM:s schema_of_json:byhilfdmxtTnaprDM:s
schema_of_variant:byhilfdmsSxtTnaprDM:s schema_of_variant_agg:byhilfdmsSxtTnaprDM:s
schema_of_xml:byhilfdmxtTnaprDM:s sec:bxtTnaprDM:d second:byhilfdmxaprDM:i sentences:apr:a
sentences:apr/apr:a sentences:apr/apr/apr:a session_user:-:s session_window:byhilfdmxapDM/:r
sha:byhilfdmtTnaprDM:s sha1:byhilfdmtTnaprDM:s sha2:byhilfdmtTnaprDM/bxtTnaprDM:s
shiftleft:bxtTnaprDM/bxtTnaprDM:? shiftright:bxtTnaprDM/bxtTnaprDM:?
shiftrightunsigned:bxtTnaprDM/bxtTnaprDM:? shuffle:byhilfdmsSxtTnprDM:a shuffle:/:a sign:bxtTnapr:d
signum:bxtTnapr:d sin:bxtTnaprDM:d sinh:bxtTnaprDM:d size:byhilfdmsSxtTnrDM:i skewness:bxtTnaprDM:d
slice:byhilfdmsSxtTnprDM/bxtTnaprDM/bxtTnaprDM:a smallint:xtnapr:h some:yhilfdmxtTnaprDM:b
sort_array:byhilfdmsSxtTnprDM:a sort_array:byhilfdmsSxtTnprDM/yhilfdmsSxtTnaprDM:a
soundex:byhilfdmxtTnaprDM:s space:bxtTnaprDM:s spark_partition_id:-:i split:apr/apr:a
split:apr/apr/bxtTnaprDM:a split_part:apr/apr/bxtTnaprDM:s sqrt:bxtTnaprDM:d
st_asbinary:byhilfdmsSxtTnaprDM:x st_asbinary:byhilfdmsSxtTnaprDM/apr:x
st_geogfromwkb:byhilfdmtTnaprDM:? st_geomfromwkb:byhilfdmtTnaprDM:?
st_geomfromwkb:byhilfdmtTnaprDM/bxtTnaprDM:? st_setsrid:byhilfdmsSxtTnaprDM/bxtTnaprDM:?
st_srid:byhilfdmsSxtTnaprDM:i startswith:apr/apr:b std:bxtTnaprDM:d stddev:bxtTnaprDM:d
stddev_pop:bxtTnaprDM:d stddev_samp:bxtTnaprDM:d str_to_map:byhilfdmxtTnaprDM:p
str_to_map:byhilfdmxtTnaprDM/byhilfdmxtTnaprDM:p
str_to_map:byhilfdmxtTnaprDM/byhilfdmxtTnaprDM/byhilfdmxtTnaprDM:p string::s string_agg:apr:?
string_agg:apr/apr:? struct::r struct:-:r substr:apr/bxtTnaprDM:? substr:apr/bxtTnaprDM/bxtTnaprDM:?
substring:apr/bxtTnaprDM:? substring:apr/bxtTnaprDM/bxtTnaprDM:? substring_index:apr/apr/bxtTnaprDM:s
sum:bxtnapr:? tan:bxtTnaprDM:d tanh:bxtTnaprDM:d
theta_difference:byhilfdmsStTnaprDM/byhilfdmsStTnaprDM:x
theta_intersection:byhilfdmsStTnaprDM/byhilfdmsStTnaprDM:x
theta_intersection_agg:byhilfdmsStTnaprDM:x theta_sketch_agg:byhmtTnprDM:x
theta_sketch_agg:byhmtTnprDM/byhlfdmsSxtTnaprDM:x theta_sketch_estimate:byhilfdmsStTnaprDM:l
theta_union:byhilfdmsStTnaprDM/byhilfdmsStTnaprDM:x
theta_union:byhilfdmsStTnaprDM/byhilfdmsStTnaprDM/byhlfdmsSxtTnaprDM:x
theta_union_agg:byhilfdmsStTnaprDM:x theta_union_agg:byhilfdmsStTnaprDM/byhlfdmsSxtTnaprDM:x
time_bucket:byhilfdmsSxtTnapr/byhilfdmsSxtaprDM:?
time_bucket:byhilfdmsSxtTnapr/byhilfdmsSxtaprDM/byhilfdmsSxtaprDM:? timestamp:bxaprDM:T
timestamp_micros:bfdmsSxtTnaprDM:T timestamp_millis:bfdmsSxtTnaprDM:T
timestamp_nanos:bfdsSxtTnaprDM:? timestamp_seconds:bsSxtTnaprDM:T tinyint:xtnapr:y
to_base32:byhilfdmtTnaprDM:s to_binary:apr:x to_binary:/:x to_char:baprDM/:s
to_csv:byhilfdmsSxtTnapDM:s to_date:apr:t to_date:apr/apr:t to_json:byhilfdmsSxtTnDM:s
to_timestamp:apr:T to_timestamp:apr/apr:T to_timestamp_ltz:apr:T to_timestamp_ltz:apr/apr:T
to_timestamp_ntz:apr:n to_timestamp_ntz:apr/apr:n to_unix_timestamp:byhilfdmxaprDM:l
to_unix_timestamp:byhilfdmxaprDM/byhilfdmxtTnaprDM:l to_utc_timestamp:byhilfdmxaprDM/apr:T
to_varchar:baprDM/:s to_variant_object:byhilfdmsSxtTnDM:? to_xml:byhilfdmsSxtTnapDM:s
translate:apr/apr/apr:s trim:apr:s trim:apr/apr:s trunc:byhilfdmxaprDM/apr:t
try_aes_decrypt:byhilfdmtTnaprDM/byhilfdmtTnaprDM:x
try_aes_decrypt:byhilfdmtTnaprDM/byhilfdmtTnaprDM/apr:x
try_aes_decrypt:byhilfdmtTnaprDM/byhilfdmtTnaprDM/apr/apr:x
try_aes_decrypt:byhilfdmtTnaprDM/byhilfdmtTnaprDM/apr/apr/byhilfdmtTnaprDM:x try_avg:bxtnapr:?
try_divide:bxtTnapr/bxtTnaprDM:? try_element_at:byhilfdmsSxtTnrDM/:? try_make_interval:bxtTnaprDM:?
try_make_interval:bxtTnaprDM/bxtTnaprDM:? try_make_interval:bxtTnaprDM/bxtTnaprDM/bxtTnaprDM:?
try_make_interval:bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/bxtTnaprDM:?
try_make_interval:bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/bxtTnaprDM:?
try_make_interval:bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/bxtTnaprDM:?
try_make_interval:bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/bxtTnaprDM:?
try_make_timestamp:byhilfdmsSxTnaprDM:T try_make_timestamp:byhilfdmsSxTnaprDM/byhilfdmsSxtTnaprDM:T
try_make_timestamp:byhilfdmsSxTnaprDM/byhilfdmsSxtTnaprDM/byhilfdmxtTnaprDM:T
try_make_timestamp:bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/bxtTnaprDM:T
try_make_timestamp:bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/apr:T
try_make_timestamp_ltz:byhilfdmsSxTnaprDM/byhilfdmsSxtTnaprDM:T
try_make_timestamp_ltz:byhilfdmsSxTnaprDM/byhilfdmsSxtTnaprDM/byhilfdmxtTnaprDM:T
try_make_timestamp_ltz:bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/bxtTnaprDM:T
try_make_timestamp_ltz:bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/apr:T
try_make_timestamp_ntz:byhilfdmsSxTnaprDM/byhilfdmsSxtTnaprDM:n
try_make_timestamp_ntz:bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/bxtTnaprDM/bxtTnaprDM:n
try_mod:bxtTnaprDM/bxtTnaprDM:? try_multiply:bxtTnapr/bxtTnapr:? try_parse_json:byhilfdmxtTnaprDM:?
try_subtract:bxapr/bxapr:? try_sum:bxtnapr:? try_to_binary:apr:x try_to_binary:/:x try_to_date:apr:t
try_to_date:apr/apr:t try_to_timestamp:apr:T try_to_timestamp:apr/apr:T try_url_decode:apr:s
try_validate_utf8:apr:s try_variant_array_append:byhilfdmsSxtTnaprDM/byhilfdmxtTnaprDM/prDM:?
try_variant_get:byhilfdmsSxtTnaprDM/byhilfdmxtTnaprDM:?
try_variant_insert:byhilfdmsSxtTnaprDM/byhilfdmxtTnaprDM/prDM:?
try_variant_set:byhilfdmsSxtTnaprDM/byhilfdmxtTnaprDM/prDM:?
try_variant_set:byhilfdmsSxtTnaprDM/byhilfdmxtTnaprDM/prDM/yhilfdmsSxtTnaprDM:?
tuple_difference_double:byhilfdmsStTnaprDM/byhilfdmsStTnaprDM:x
tuple_difference_integer:byhilfdmsStTnaprDM/byhilfdmsStTnaprDM:x
tuple_difference_theta_double:byhilfdmsStTnaprDM/byhilfdmsStTnaprDM:x
tuple_difference_theta_integer:byhilfdmsStTnaprDM/byhilfdmsStTnaprDM:x
tuple_intersection_agg_double:byhilfdmtTnaprDM:x tuple_intersection_agg_integer:byhilfdmtTnaprDM:x
tuple_intersection_double:byhilfdmsStTnaprDM/byhilfdmsStTnaprDM:x
tuple_intersection_integer:byhilfdmsStTnaprDM/byhilfdmsStTnaprDM:x
tuple_intersection_theta_double:byhilfdmsStTnaprDM/byhilfdmsStTnaprDM:x
tuple_intersection_theta_integer:byhilfdmsStTnaprDM/byhilfdmsStTnaprDM:x
tuple_sketch_agg_double:pr/bxtTnaprDM:x tuple_sketch_agg_integer:pr/bxtTnaprDM:x
tuple_sketch_estimate_double:byhilfdmsStTnaprDM:d tuple_sketch_estimate_integer:byhilfdmsStTnaprDM:d
tuple_sketch_summary_double:byhilfdmsStTnaprDM:d tuple_sketch_summary_integer:byhilfdmsStTnaprDM:l
tuple_sketch_theta_double:byhilfdmsStTnaprDM:d tuple_sketch_theta_integer:byhilfdmsStTnaprDM:d
tuple_union_agg_double:byhilfdmtTnaprDM:x tuple_union_agg_integer:byhilfdmtTnaprDM:x
tuple_union_double:byhilfdmsStTnaprDM/byhilfdmsStTnaprDM:x
tuple_union_integer:byhilfdmsStTnaprDM/byhilfdmsStTnaprDM:x
tuple_union_theta_double:byhilfdmsStTnaprDM/byhilfdmsStTnaprDM:x
tuple_union_theta_integer:byhilfdmsStTnaprDM/byhilfdmsStTnaprDM:x typeof::s ucase:apr:s
unbase64:apr:x unhex:apr:x uniform:bsSxtTnaprDM/bsSxtTnaprDM:?
uniform:bsSxtTnaprDM/bsSxtTnaprDM/byhfdmsSxtTnaprDM:? unix_date:byhilfdmsSxTnaprDM:i
unix_micros:byhilfdmsSxtaprDM:l unix_millis:byhilfdmsSxtaprDM:l unix_nanos:byhilfdmsSxtTnaprDM:m
unix_seconds:byhilfdmsSxtaprDM:l unix_timestamp:byhilfdmxaprDM:l
unix_timestamp:byhilfdmxaprDM/byhilfdmxtTnaprDM:l unix_timestamp:-:l upper:apr:s url_decode:apr:s
url_encode:apr:s user:-:s uuid::s uuid:-:s validate_utf8:apr:s var_pop:bxtTnaprDM:d
var_samp:bxtTnaprDM:d variance:bxtTnaprDM:d
variant_array_append:byhilfdmsSxtTnaprDM/byhilfdmxtTnaprDM/prDM:?
variant_delete:byhilfdmsSxtTnaprDM/byhilfdmxtTnaprDM:?
variant_delete:byhilfdmsSxtTnaprDM/byhilfdmxtTnaprDM/byhilfdmxtTnaprDM:?
variant_get:byhilfdmsSxtTnaprDM/byhilfdmxtTnaprDM:?
variant_insert:byhilfdmsSxtTnaprDM/byhilfdmxtTnaprDM/prDM:?
variant_set:byhilfdmsSxtTnaprDM/byhilfdmxtTnaprDM/prDM:?
variant_set:byhilfdmsSxtTnaprDM/byhilfdmxtTnaprDM/prDM/yhilfdmsSxtTnaprDM:?
variant_strip_nulls:byhilfdmsSxtTnaprDM:?
variant_strip_nulls:byhilfdmsSxtTnaprDM/yhilfdmsSxtTnaprDM:? vector_avg:byhilfdmsSxtTnprDM:a
vector_cosine_similarity:byhilfdmsSxtTnprDM/byhilfdmsSxtTnprDM:f
vector_inner_product:byhilfdmsSxtTnprDM/byhilfdmsSxtTnprDM:f
vector_l2_distance:byhilfdmsSxtTnprDM/byhilfdmsSxtTnprDM:f vector_norm:byhilfdmsSxtTnprDM:f
vector_normalize:byhilfdmsSxtTnprDM:a vector_sum:byhilfdmsSxtTnprDM:a version:-:s
weekday:byhilfdmxaprDM:i weekofyear:byhilfdmxaprDM:i
width_bucket:bxtTnapr/bxtTnapr/bxtTnapr/bxtTnaprDM:l xpath:byhilfdmxtTnaprDM/byhilfdmxtTnaprDM:a
xpath_boolean:byhilfdmxtTnaprDM/byhilfdmxtTnaprDM:b
xpath_double:byhilfdmxtTnaprDM/byhilfdmxtTnaprDM:d xpath_float:byhilfdmxtTnaprDM/byhilfdmxtTnaprDM:f
xpath_int:byhilfdmxtTnaprDM/byhilfdmxtTnaprDM:i xpath_long:byhilfdmxtTnaprDM/byhilfdmxtTnaprDM:l
xpath_number:byhilfdmxtTnaprDM/byhilfdmxtTnaprDM:d xpath_short:byhilfdmxtTnaprDM/byhilfdmxtTnaprDM:h
xpath_string:byhilfdmxtTnaprDM/byhilfdmxtTnaprDM:s xxhash64:p:l xxhash64:p/p/p:l
year:byhilfdmxaprDM:i zeroifnull:bxtTnaprDM:?
"""
#: Of each operator and kind on its left, what the kinds on its right make of it: a kind, `!` where Spark
#: refuses it, `?` where more decides. On the right, or as types of a cast, kinds stand in this order.
ON_THE_RIGHT = "byhilfdmsSxtTnaprDM"
OPERATORS = """
=:b:b!!!!!!!bb!!!!!!!!! =:y:!bbbbbbbbb!!!!!!!!! =:h:!bbbbbbbbb!!!!!!!!! =:i:!bbbbbbbbb!!!!!!!!!
=:l:!bbbbbbbbb!!!!!!!!! =:f:!bbbbbbbbb!!!!!!!!! =:d:!bbbbbbbbb!!!!!!!!! =:m:!bbbbbbbbb!!!!!!!!!
=:s:bbbbbbbbbbbbbb!!!!! =:S:bbbbbbbbbbbbbb!!!!! =:x:!!!!!!!!bbb!!!!!!!! =:t:!!!!!!!!bb!bbb!!!!!
=:T:!!!!!!!!bb!bbb!!!!! =:n:!!!!!!!!bb!bbb!!!!! =:a:!!!!!!!!!!!!!!b!!!! =:p:!!!!!!!!!!!!!!!!!!!
=:r:!!!!!!!!!!!!!!!!b!! =:D:!!!!!!!!!!!!!!!!!b! =:M:!!!!!!!!!!!!!!!!!!b <:b:b!!!!!!!bb!!!!!!!!!
<:y:!bbbbbbbbb!!!!!!!!! <:h:!bbbbbbbbb!!!!!!!!! <:i:!bbbbbbbbb!!!!!!!!! <:l:!bbbbbbbbb!!!!!!!!!
<:f:!bbbbbbbbb!!!!!!!!! <:d:!bbbbbbbbb!!!!!!!!! <:m:!bbbbbbbbb!!!!!!!!! <:s:bbbbbbbbbbbbbb!!!!!
<:S:bbbbbbbbbbbbbb!!!!! <:x:!!!!!!!!bbb!!!!!!!! <:t:!!!!!!!!bb!bbb!!!!! <:T:!!!!!!!!bb!bbb!!!!!
<:n:!!!!!!!!bb!bbb!!!!! <:a:!!!!!!!!!!!!!!b!!!! <:p:!!!!!!!!!!!!!!!!!!! <:r:!!!!!!!!!!!!!!!!b!!
<:D:!!!!!!!!!!!!!!!!!b! <:M:!!!!!!!!!!!!!!!!!!b +:b:!!!!!!!!!!!!!!!!!!! +:y:!yhilddmll!t!!!!!!!
+:h:!hhilddmll!t!!!!!!! +:i:!iiilddmll!t!!!!!!! +:l:!llllddmll!!!!!!!!! +:f:!ddddfdddd!!!!!!!!!
+:d:!ddddddddd!!!!!!!!! +:m:!mmmmddmdd!!!!!!!!! +:s:!llllddd!!!!!!!!!s! +:S:!llllddd!!!!!!!!!s!
+:x:!!!!!!!!!!!!!!!!!!! +:t:!ttt!!!!!!!!!!!!!?t +:T:!!!!!!!!!!!!!!!!!TT +:n:!!!!!!!!!!!!!!!!!nn
+:a:!!!!!!!!!!!!!!!!!!! +:p:!!!!!!!!!!!!!!!!!!! +:r:!!!!!!!!!!!!!!!!!!! +:D:!!!!!!!!ss!?Tn!!!D!
+:M:!!!!!!!!!!!tTn!!!!M -:b:!!!!!!!!!!!!!!!!!!! -:y:!yhilddmll!!!!!!!!! -:h:!hhilddmll!!!!!!!!!
-:i:!iiilddmll!!!!!!!!! -:l:!llllddmll!!!!!!!!! -:f:!ddddfdddd!!!!!!!!! -:d:!ddddddddd!!!!!!!!!
-:m:!mmmmddmdd!!!!!!!!! -:s:!llllddd!!!DDD!!!s! -:S:!llllddd!!!DDD!!!s! -:x:!!!!!!!!!!!!!!!!!!!
-:t:!ttt!!!!DD!DDD!!!?t -:T:!!!!!!!!DD!DDD!!!TT -:n:!!!!!!!!DD!DDD!!!nn -:a:!!!!!!!!!!!!!!!!!!!
-:p:!!!!!!!!!!!!!!!!!!! -:r:!!!!!!!!!!!!!!!!!!! -:D:!!!!!!!!!!!!!!!!!D! -:M:!!!!!!!!!!!!!!!!!!M
*:b:!!!!!!!!!!!!!!!!!!! *:y:!yhilddmll!!!!!!!DM *:h:!hhilddmll!!!!!!!DM *:i:!iiilddmll!!!!!!!DM
*:l:!llllddmll!!!!!!!DM *:f:!ddddfdddd!!!!!!!DM *:d:!ddddddddd!!!!!!!DM *:m:!mmmmddmdd!!!!!!!DM
*:s:!llllddd!!!!!!!!!DM *:S:!llllddd!!!!!!!!!DM *:x:!!!!!!!!!!!!!!!!!!! *:t:!!!!!!!!!!!!!!!!!!!
*:T:!!!!!!!!!!!!!!!!!!! *:n:!!!!!!!!!!!!!!!!!!! *:a:!!!!!!!!!!!!!!!!!!! *:p:!!!!!!!!!!!!!!!!!!!
*:r:!!!!!!!!!!!!!!!!!!! *:D:!DDDDDDDDD!!!!!!!!! *:M:!MMMMMMMMM!!!!!!!!! /:b:!!!!!!!!!!!!!!!!!!!
/:y:!ddddddmdd!!!!!!!!! /:h:!ddddddmdd!!!!!!!!! /:i:!ddddddmdd!!!!!!!!! /:l:!ddddddmdd!!!!!!!!!
/:f:!ddddddddd!!!!!!!!! /:d:!ddddddddd!!!!!!!!! /:m:!mmmmddmdd!!!!!!!!! /:s:!ddddddd!!!!!!!!!!!
/:S:!ddddddd!!!!!!!!!!! /:x:!!!!!!!!!!!!!!!!!!! /:t:!!!!!!!!!!!!!!!!!!! /:T:!!!!!!!!!!!!!!!!!!!
/:n:!!!!!!!!!!!!!!!!!!! /:a:!!!!!!!!!!!!!!!!!!! /:p:!!!!!!!!!!!!!!!!!!! /:r:!!!!!!!!!!!!!!!!!!!
/:D:!DDDDDDDDD!!!!!!!!! /:M:!MMMMMMMMM!!!!!!!!! %:b:!!!!!!!!!!!!!!!!!!! %:y:!yhilddmll!!!!!!!!!
%:h:!hhilddmll!!!!!!!!! %:i:!iiilddmll!!!!!!!!! %:l:!llllddmll!!!!!!!!! %:f:!ddddfdddd!!!!!!!!!
%:d:!ddddddddd!!!!!!!!! %:m:!mmmmddmdd!!!!!!!!! %:s:!llllddd!!!!!!!!!!! %:S:!llllddd!!!!!!!!!!!
%:x:!!!!!!!!!!!!!!!!!!! %:t:!!!!!!!!!!!!!!!!!!! %:T:!!!!!!!!!!!!!!!!!!! %:n:!!!!!!!!!!!!!!!!!!!
%:a:!!!!!!!!!!!!!!!!!!! %:p:!!!!!!!!!!!!!!!!!!! %:r:!!!!!!!!!!!!!!!!!!! %:D:!!!!!!!!!!!!!!!!!!!
%:M:!!!!!!!!!!!!!!!!!!! div:b:!!!!!!!!!!!!!!!!!!! div:y:!llll!!lll!!!!!!!!! div:h:!llll!!lll!!!!!!!!!
div:i:!llll!!lll!!!!!!!!! div:l:!llll!!lll!!!!!!!!! div:f:!!!!!!!!!!!!!!!!!!!
div:d:!!!!!!!!!!!!!!!!!!! div:m:!llll!!l!!!!!!!!!!! div:s:!llll!!!!!!!!!!!!!!
div:S:!llll!!!!!!!!!!!!!! div:x:!!!!!!!!!!!!!!!!!!! div:t:!!!!!!!!!!!!!!!!!!!
div:T:!!!!!!!!!!!!!!!!!!! div:n:!!!!!!!!!!!!!!!!!!! div:a:!!!!!!!!!!!!!!!!!!!
div:p:!!!!!!!!!!!!!!!!!!! div:r:!!!!!!!!!!!!!!!!!!! div:D:!!!!!!!!!!!!!!!!!l!
div:M:!!!!!!!!!!!!!!!!!!l ||:b:ssssssssssssss!!!ss ||:y:ssssssssssssss!!!ss ||:h:ssssssssssssss!!!ss
||:i:ssssssssssssss!!!ss ||:l:ssssssssssssss!!!ss ||:f:ssssssssssssss!!!ss ||:d:ssssssssssssss!!!ss
||:m:ssssssssssssss!!!ss ||:s:ssssssssssssss!!!ss ||:S:ssssssssssssss!!!ss ||:x:ssssssssssxsss!!!ss
||:t:ssssssssssssss!!!ss ||:T:ssssssssssssss!!!ss ||:n:ssssssssssssss!!!ss ||:a:!!!!!!!!!!!!!!a!!!!
||:p:!!!!!!!!!!!!!!!!!!! ||:r:!!!!!!!!!!!!!!!!!!! ||:D:ssssssssssssss!!!ss ||:M:ssssssssssssss!!!ss
&:b:!!!!!!!!!!!!!!!!!!! &:y:!yhil!!!ll!!!!!!!!! &:h:!hhil!!!ll!!!!!!!!! &:i:!iiil!!!ll!!!!!!!!!
&:l:!llll!!!ll!!!!!!!!! &:f:!!!!!!!!!!!!!!!!!!! &:d:!!!!!!!!!!!!!!!!!!! &:m:!!!!!!!!!!!!!!!!!!!
&:s:!llll!!!!!!!!!!!!!! &:S:!llll!!!!!!!!!!!!!! &:x:!!!!!!!!!!!!!!!!!!! &:t:!!!!!!!!!!!!!!!!!!!
&:T:!!!!!!!!!!!!!!!!!!! &:n:!!!!!!!!!!!!!!!!!!! &:a:!!!!!!!!!!!!!!!!!!! &:p:!!!!!!!!!!!!!!!!!!!
&:r:!!!!!!!!!!!!!!!!!!! &:D:!!!!!!!!!!!!!!!!!!! &:M:!!!!!!!!!!!!!!!!!!! and:b:b!!!!!!!bb!!!!!!!!!
and:y:!!!!!!!!!!!!!!!!!!! and:h:!!!!!!!!!!!!!!!!!!! and:i:!!!!!!!!!!!!!!!!!!!
and:l:!!!!!!!!!!!!!!!!!!! and:f:!!!!!!!!!!!!!!!!!!! and:d:!!!!!!!!!!!!!!!!!!!
and:m:!!!!!!!!!!!!!!!!!!! and:s:b!!!!!!!!!!!!!!!!!! and:S:b!!!!!!!!!!!!!!!!!!
and:x:!!!!!!!!!!!!!!!!!!! and:t:!!!!!!!!!!!!!!!!!!! and:T:!!!!!!!!!!!!!!!!!!!
and:n:!!!!!!!!!!!!!!!!!!! and:a:!!!!!!!!!!!!!!!!!!! and:p:!!!!!!!!!!!!!!!!!!!
and:r:!!!!!!!!!!!!!!!!!!! and:D:!!!!!!!!!!!!!!!!!!! and:M:!!!!!!!!!!!!!!!!!!!
like:b:bbbbbbbbbbbbbb!!!bb like:y:bbbbbbbbbbbbbb!!!bb like:h:bbbbbbbbbbbbbb!!!bb
like:i:bbbbbbbbbbbbbb!!!bb like:l:bbbbbbbbbbbbbb!!!bb like:f:bbbbbbbbbbbbbb!!!bb
like:d:bbbbbbbbbbbbbb!!!bb like:m:bbbbbbbbbbbbbb!!!bb like:s:bbbbbbbbbbbbbb!!!bb
like:S:bbbbbbbbbbbbbb!!!bb like:x:bbbbbbbbbbbbbb!!!bb like:t:bbbbbbbbbbbbbb!!!bb
like:T:bbbbbbbbbbbbbb!!!bb like:n:bbbbbbbbbbbbbb!!!bb like:a:!!!!!!!!!!!!!!!!!!!
like:p:!!!!!!!!!!!!!!!!!!! like:r:!!!!!!!!!!!!!!!!!!! like:D:bbbbbbbbbbbbbb!!!bb
like:M:bbbbbbbbbbbbbb!!!bb coalesce:b:b!!!!!!!bb!!!!!!!!! coalesce:y:!yhilddmll!!!!!!!!!
coalesce:h:!hhilddmll!!!!!!!!! coalesce:i:!iiilddmll!!!!!!!!! coalesce:l:!llllddmll!!!!!!!!!
coalesce:f:!ddddfdddd!!!!!!!!! coalesce:d:!ddddddddd!!!!!!!!! coalesce:m:!mmmmddmdd!!!!!!!!!
coalesce:s:blllldddssxtTn!!!!! coalesce:S:blllldddssxtTn!!!!! coalesce:x:!!!!!!!!xxx!!!!!!!!
coalesce:t:!!!!!!!!tt!tTn!!!!! coalesce:T:!!!!!!!!TT!TTT!!!!! coalesce:n:!!!!!!!!nn!nTn!!!!!
coalesce:a:!!!!!!!!!!!!!!a!!!! coalesce:p:!!!!!!!!!!!!!!!p!!! coalesce:r:!!!!!!!!!!!!!!!!r!!
coalesce:D:!!!!!!!!!!!!!!!!!D! coalesce:M:!!!!!!!!!!!!!!!!!!M greatest:b:b!!!!!!!!!!!!!!!!!!
greatest:y:!yhilddm!!!!!!!!!!! greatest:h:!hhilddm!!!!!!!!!!! greatest:i:!iiilddm!!!!!!!!!!!
greatest:l:!llllddm!!!!!!!!!!! greatest:f:!ddddfdd!!!!!!!!!!! greatest:d:!ddddddd!!!!!!!!!!!
greatest:m:!mmmmddm!!!!!!!!!!! greatest:s:!!!!!!!!ss!!!!!!!!! greatest:S:!!!!!!!!ss!!!!!!!!!
greatest:x:!!!!!!!!!!x!!!!!!!! greatest:t:!!!!!!!!!!!tTn!!!!! greatest:T:!!!!!!!!!!!TTT!!!!!
greatest:n:!!!!!!!!!!!nTn!!!!! greatest:a:!!!!!!!!!!!!!!a!!!! greatest:p:!!!!!!!!!!!!!!!!!!!
greatest:r:!!!!!!!!!!!!!!!!r!! greatest:D:!!!!!!!!!!!!!!!!!D! greatest:M:!!!!!!!!!!!!!!!!!!M
array:b:a!!!!!!!aa!!!!!!!!! array:y:!aaaaaaaaa!!!!!!!!! array:h:!aaaaaaaaa!!!!!!!!!
array:i:!aaaaaaaaa!!!!!!!!! array:l:!aaaaaaaaa!!!!!!!!! array:f:!aaaaaaaaa!!!!!!!!!
array:d:!aaaaaaaaa!!!!!!!!! array:m:!aaaaaaaaa!!!!!!!!! array:s:aaaaaaaaaaaaaa!!!!!
array:S:aaaaaaaaaaaaaa!!!!! array:x:!!!!!!!!aaa!!!!!!!! array:t:!!!!!!!!aa!aaa!!!!!
array:T:!!!!!!!!aa!aaa!!!!! array:n:!!!!!!!!aa!aaa!!!!! array:a:!!!!!!!!!!!!!!a!!!!
array:p:!!!!!!!!!!!!!!!a!!! array:r:!!!!!!!!!!!!!!!!a!! array:D:!!!!!!!!!!!!!!!!!a!
array:M:!!!!!!!!!!!!!!!!!!a in:b:b!!!!!!!bb!!!!!!!!! in:y:!bbbbbbbbb!!!!!!!!!
in:h:!bbbbbbbbb!!!!!!!!! in:i:!bbbbbbbbb!!!!!!!!! in:l:!bbbbbbbbb!!!!!!!!! in:f:!bbbbbbbbb!!!!!!!!!
in:d:!bbbbbbbbb!!!!!!!!! in:m:!bbbbbbbbb!!!!!!!!! in:s:bbbbbbbbbbbbbb!!!!! in:S:bbbbbbbbbbbbbb!!!!!
in:x:!!!!!!!!bbb!!!!!!!! in:t:!!!!!!!!bb!bbb!!!!! in:T:!!!!!!!!bb!bbb!!!!! in:n:!!!!!!!!bb!bbb!!!!!
in:a:!!!!!!!!!!!!!!b!!!! in:p:!!!!!!!!!!!!!!!!!!! in:r:!!!!!!!!!!!!!!!!b!! in:D:!!!!!!!!!!!!!!!!!b!
in:M:!!!!!!!!!!!!!!!!!!b not:b:b not:y:! not:h:! not:i:! not:l:! not:f:! not:d:! not:m:! not:s:b
not:S:b not:x:! not:t:! not:T:! not:n:! not:a:! not:p:! not:r:! not:D:! not:M:! ~:b:! ~:y:y ~:h:h
~:i:i ~:l:l ~:f:! ~:d:! ~:m:! ~:s:! ~:S:! ~:x:! ~:t:! ~:T:! ~:n:! ~:a:! ~:p:! ~:r:! ~:D:! ~:M:!
neg:b:! neg:y:y neg:h:h neg:i:i neg:l:l neg:f:f neg:d:d neg:m:m neg:s:d neg:S:d neg:x:! neg:t:!
neg:T:! neg:n:! neg:a:! neg:p:! neg:r:! neg:D:D neg:M:M when:b:i when:y:! when:h:! when:i:! when:l:!
when:f:! when:d:! when:m:! when:s:! when:S:! when:x:! when:t:! when:T:! when:n:! when:a:! when:p:!
when:r:! when:D:! when:M:! cast:b:byhilfdmss!!!!!!!!! cast:y:byhilfdmss!!T!!!!DM
cast:h:byhilfdmss!!T!!!!DM cast:i:byhilfdmss!!T!!!!DM cast:l:byhilfdmss!!T!!!!DM
cast:f:byhilfdmss!!T!!!!!! cast:d:byhilfdmss!!T!!!!!! cast:m:byhilfdmss!!T!!!!DM
cast:s:byhilfdmssxtTn!!!DM cast:S:byhilfdmssxtTn!!!DM cast:x:!!!!!!!!ssx!!!!!!!!
cast:t:!!!!!!!!ss!tTn!!!!! cast:T:!yhilfdmss!tTn!!!!! cast:n:!!!!!!!!ss!tTn!!!!!
cast:a:!!!!!!!!ss!!!!a!!!! cast:p:!!!!!!!!ss!!!!!p!!! cast:r:!!!!!!!!ss!!!!!!r!!
cast:D:!yhil!!mss!!!!!!!D! cast:M:!yhil!!mss!!!!!!!!M try_cast:b:byhilfdmss!!!!!!!!!
try_cast:y:byhilfdmss!!T!!!!DM try_cast:h:byhilfdmss!!T!!!!DM try_cast:i:byhilfdmss!!T!!!!DM
try_cast:l:byhilfdmss!!T!!!!DM try_cast:f:byhilfdmss!!T!!!!!! try_cast:d:byhilfdmss!!T!!!!!!
try_cast:m:byhilfdmss!!T!!!!DM try_cast:s:byhilfdmssxtTn!!!DM try_cast:S:byhilfdmssxtTn!!!DM
try_cast:x:!!!!!!!!ssx!!!!!!!! try_cast:t:!!!!!!!!ss!tTn!!!!! try_cast:T:!yhilfdmss!tTn!!!!!
try_cast:n:!!!!!!!!ss!tTn!!!!! try_cast:a:!!!!!!!!ss!!!!a!!!! try_cast:p:!!!!!!!!ss!!!!!p!!!
try_cast:r:!!!!!!!!ss!!!!!!r!! try_cast:D:!yhil!!mss!!!!!!!D! try_cast:M:!yhil!!mss!!!!!!!!M
"""
