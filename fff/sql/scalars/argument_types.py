"""Types that Spark's functions never take. Written by `python -m fff.spark`; do not edit.

`name:refused/refused:value` is a call of a function with as many arguments as there are places, the letters of the types
(`fff.sql.refusals.types.kinds`) that are refused in each of them, and that of its values, if it is one whatever is given.
`-` stands for no argument.
"""

SPARK_VERSION = "4.3.0"
ARGUMENT_TYPES = """
abs:bxtTnapr:? acos:bxtTnapr:d acosh:bxtTnapr:d add_months:byhilfdmxapr/bxtTnapr:t
aes_decrypt:byhilfdmtTnapr/byhilfdmtTnapr:x aes_decrypt:byhilfdmtTnapr/byhilfdmtTnapr/apr:x
aes_decrypt:byhilfdmtTnapr/byhilfdmtTnapr/apr/apr:x
aes_decrypt:byhilfdmtTnapr/byhilfdmtTnapr/apr/apr/byhilfdmtTnapr:x
aes_encrypt:byhilfdmtTnapr/byhilfdmtTnapr:x aes_encrypt:byhilfdmtTnapr/byhilfdmtTnapr/apr:x
aes_encrypt:byhilfdmtTnapr/byhilfdmtTnapr/apr/apr:x
aes_encrypt:byhilfdmtTnapr/byhilfdmtTnapr/apr/apr/byhilfdmtTnapr:x
aes_encrypt:byhilfdmtTnapr/byhilfdmtTnapr/apr/apr/byhilfdmtTnapr/byhilfdmtTnapr:x
any:yhilfdmxtTnapr:b approx_count_distinct::l approx_percentile:bxapr/bxtTnpr:?
approx_percentile:bxapr/bxtTnpr/bfdmsSxtTnapr:? approx_top_k::a approx_top_k_accumulate::r array::a
array:-:a array_agg::a array_append:byhilfdmsSxtTnpr/:a array_compact:byhilfdmsSxtTnpr:a
array_contains:byhilfdmsSxtTnpr/p:b array_distinct:byhilfdmsSxtTnpr:a
array_except:byhilfdmsSxtTnpr/byhilfdmsSxtTnpr:a array_intersect:byhilfdmsSxtTnpr/byhilfdmsSxtTnpr:a
array_join:byhilfdmsSxtTnpr/byhilfdmxtTnapr:s
array_join:byhilfdmsSxtTnpr/byhilfdmxtTnapr/byhilfdmxtTnapr:s array_max:byhilfdmsSxtTnpr:?
array_min:byhilfdmsSxtTnpr:? array_position:byhilfdmsSxtTnpr/p:l array_prepend:byhilfdmsSxtTnpr/:a
array_remove:byhilfdmsSxtTnpr/p:a array_repeat:/byhlfdmsSxtTnapr:a array_size:byhilfdmsSxtTnpr:i
array_union:byhilfdmsSxtTnpr/byhilfdmsSxtTnpr:a arrays_overlap:byhilfdmsSxtTnpr/byhilfdmsSxtTnpr:b
arrays_zip:byhilfdmsSxtTnpr:a arrays_zip:byhilfdmsSxtTnpr/byhilfdmsSxtTnpr:a
arrays_zip:byhilfdmsSxtTnpr/byhilfdmsSxtTnpr/byhilfdmsSxtTnpr:a arrays_zip:-:a ascii:apr:i
asin:bxtTnapr:d asinh:bxtTnapr:d assert_true:yhilfdmsSxtTnapr:? assert_true:yhilfdmsSxtTnapr/apr:?
atan:bxtTnapr:d atan2:bxtTnapr/bxtTnapr:d atanh:bxtTnapr:d avg:bxtnapr:? base64:byhilfdmtTnapr:s
bigint:xtnapr:l bin:bxtTnapr:s binary:byhilfdmtTnapr:x bit_and:bfdmsSxtTnapr:?
bit_count:fdmsSxtTnapr:i bit_get:bfdmsSxtTnapr/bxtTnapr:y bit_length:apr:i bit_or:bfdmsSxtTnapr:?
bit_xor:bfdmsSxtTnapr:? bitmap_and_agg:byhilfdmsStTnapr:x bitmap_bit_position:bxtTnapr:l
bitmap_bucket_number:bxtTnapr:l bitmap_construct_agg:bxtTnapr:x bitmap_count:byhilfdmsStTnapr:l
bitmap_or_agg:byhilfdmsStTnapr:x bool_and:yhilfdmxtTnapr:b bool_or:yhilfdmxtTnapr:b boolean:xtTnapr:b
bround:bxtTnapr:? bround:bxtTnapr/bxtTnapr:? btrim:apr:s btrim:apr/apr:s
cardinality:byhilfdmsSxtTnr:i cbrt:bxtTnapr:d ceil:bxtTnapr:? ceil:/:m ceiling:bxtTnapr:? ceiling:/:m
char:bxtTnapr:s char_length:apr:i character_length:apr:i chr:bxtTnapr:s collation:byhilfdmxtTnapr:s
collect_list::a collect_set:p:a collect_union:byhilfdmsSxtTnpr:a concat:pr:? concat:-:s
concat_ws:apr:s concat_ws:apr/pr/pr:s contains:apr/apr:b conv:apr/bxtTnapr/bxtTnapr:s
convert_timezone:apr/byhilfdmxapr:n convert_timezone:apr/apr/byhilfdmxapr:n corr:bxtTnapr/bxtTnapr:d
cos:bxtTnapr:d cosh:bxtTnapr:d cot:bxtTnapr:d count::l count_if:yhilfdmxtTnapr:l
counter_diff:bsSxtTnapr:? covar_pop:bxtTnapr/bxtTnapr:d covar_samp:bxtTnapr/bxtTnapr:d
crc32:byhilfdmtTnapr:l csc:bxtTnapr:d cume_dist:-:d curdate:-:t current_catalog:-:s
current_database:-:s current_date:-:t current_path:-:s current_schema:-:s current_timestamp:-:T
current_timezone:-:s current_user:-:s date:byhilfdmxapr:t date_add:byhilfdmxapr/blfdmxtTnapr:t
date_add:/bxtTnapr/byhilfdmxapr:? date_diff:byhilfdmxapr/byhilfdmxapr:i
date_diff:/byhilfdmxapr/byhilfdmxapr:l date_format:byhilfdmxapr/apr:s date_from_unix_date:bxtTnapr:t
date_sub:byhilfdmxapr/blfdmxtTnapr:t date_trunc:apr/byhilfdmxapr:T
dateadd:byhilfdmxapr/blfdmxtTnapr:t dateadd:/bxtTnapr/byhilfdmxapr:?
datediff:byhilfdmxapr/byhilfdmxapr:i datediff:/byhilfdmxapr/byhilfdmxapr:l day:byhilfdmxapr:i
dayname:byhilfdmxapr:s dayofmonth:byhilfdmxapr:i dayofweek:byhilfdmxapr:i dayofyear:byhilfdmxapr:i
decimal:xtnapr:m decode:byhilfdmtTnapr/apr:s decode:p/p/apr:? degrees:bxtTnapr:d dense_rank::i
dense_rank:-:i double:xtnapr:d e:-:d element_at:byhilfdmsSxtTnr/:? elt:bxtTnapr/apr:?
elt:bxtTnapr/apr/apr:s encode:apr/apr:x endswith:apr/apr:b every:yhilfdmxtTnapr:b exp:bxtTnapr:d
explode:byhilfdmsSxtTnr:? explode_outer:byhilfdmsSxtTnr:? expm1:bxtTnapr:d factorial:bxtTnapr:l
find_in_set:apr/apr:i flatten:byhilfdmsSxtTnpr:a float:xtnapr:f floor:bxtTnapr:? floor:/:m
format_number:bsSxtTnapr/byhlfdmxtTnapr:s format_string:apr:s format_string:apr//:s from_base32:apr:x
from_unixtime:bxtTnapr:s from_unixtime:bxtTnapr/apr:s from_utc_timestamp:byhilfdmxapr/apr:T
get:byhilfdmsSxtTnpr/bxtTnapr:? get_json_object:byhilfdmxtTnapr/byhilfdmxtTnapr:s
getbit:bfdmsSxtTnapr/bxtTnapr:y grouping::y grouping_id::l grouping_id:-:l hash:p:i hash:p/p/p:i
hex:apr:s hll_sketch_agg:byhfdmtTnapr:x hll_sketch_estimate:byhilfdmsStTnapr:l
hll_union_agg:byhilfdmsStTnapr:x hmac:byhilfdmtTnapr/byhilfdmtTnapr:x
hmac:byhilfdmtTnapr/byhilfdmtTnapr/apr:x hour:byhilfdmxapr:i hypot:bxtTnapr/bxtTnapr:d
if:yhilfdmsSxtTnapr//:? initcap:apr:s input_file_block_length:-:l input_file_block_start:-:l
input_file_name:-:s instr:apr/apr:i instr:apr/apr/bxtTnapr:i instr:apr/apr/bxtTnapr/bxtTnapr:i
int:xtnapr:i is_valid_utf8:apr:b is_valid_variant:byhilfdmsSxtTnapr:b
is_variant_null:byhilfdmsSxtTnapr:b isnan:bxtTnapr:b isnotnull::b isnull::b
jaro_winkler_similarity:apr/apr:d json_array_length:byhilfdmxtTnapr:i
json_object_keys:byhilfdmxtTnapr:a kll_merge_agg_bigint:byhilfdmsStTnapr:x
kll_merge_agg_double:byhilfdmsStTnapr:x kll_merge_agg_float:byhilfdmsStTnapr:x
kll_sketch_agg_bigint:bfdmsSxtTnapr:x kll_sketch_agg_double:byhilmsSxtTnapr:x
kll_sketch_agg_float:byhildmsSxtTnapr:x kll_sketch_get_n_bigint:byhilfdmtTnapr:l
kll_sketch_get_n_double:byhilfdmtTnapr:l kll_sketch_get_n_float:byhilfdmtTnapr:l
kll_sketch_to_string_bigint:byhilfdmtTnapr:s kll_sketch_to_string_double:byhilfdmtTnapr:s
kll_sketch_to_string_float:byhilfdmtTnapr:s kurtosis:bxtTnapr:d last_day:byhilfdmxapr:t lcase:apr:s
left:apr/bxtTnapr:? len:apr:i length:apr:i levenshtein:apr/apr:i levenshtein:apr/apr/bxtTnapr:i
listagg:apr:? ln:bxtTnapr:d localtimestamp:-:n locate:apr/apr:i locate:apr/apr/bxtTnapr:i
log:bxtTnapr:d log:bxtTnapr/bxtTnapr:d log10:bxtTnapr:d log1p:bxtTnapr:d log2:bxtTnapr:d lower:apr:s
lpad:apr/bxtTnapr:? lpad:apr/bxtTnapr/apr:s ltrim:apr:s ltrim:apr/apr:s luhn_check:apr:b
make_date:bxtTnapr/bxtTnapr/bxtTnapr:t make_dt_interval:bxtTnapr:?
make_dt_interval:bxtTnapr/bxtTnapr:? make_dt_interval:bxtTnapr/bxtTnapr/bxtTnapr:?
make_dt_interval:bxtTnapr/bxtTnapr/bxtTnapr/bxtTnapr:? make_interval:bxtTnapr:?
make_interval:bxtTnapr/bxtTnapr:? make_interval:bxtTnapr/bxtTnapr/bxtTnapr:?
make_interval:bxtTnapr/bxtTnapr/bxtTnapr/bxtTnapr:?
make_interval:bxtTnapr/bxtTnapr/bxtTnapr/bxtTnapr/bxtTnapr:?
make_interval:bxtTnapr/bxtTnapr/bxtTnapr/bxtTnapr/bxtTnapr/bxtTnapr:?
make_interval:bxtTnapr/bxtTnapr/bxtTnapr/bxtTnapr/bxtTnapr/bxtTnapr/bxtTnapr:?
make_timestamp:byhilfdmsSxTnapr:T make_timestamp:byhilfdmsSxTnapr/byhilfdmsSxtTnapr:T
make_timestamp:byhilfdmsSxTnapr/byhilfdmsSxtTnapr/byhilfdmxtTnapr:T
make_timestamp:bxtTnapr/bxtTnapr/bxtTnapr/bxtTnapr/bxtTnapr/bxtTnapr:T
make_timestamp:bxtTnapr/bxtTnapr/bxtTnapr/bxtTnapr/bxtTnapr/bxtTnapr/apr:T
make_timestamp_ltz:byhilfdmsSxTnapr/byhilfdmsSxtTnapr:T
make_timestamp_ltz:byhilfdmsSxTnapr/byhilfdmsSxtTnapr/byhilfdmxtTnapr:T
make_timestamp_ltz:bxtTnapr/bxtTnapr/bxtTnapr/bxtTnapr/bxtTnapr/bxtTnapr:T
make_timestamp_ltz:bxtTnapr/bxtTnapr/bxtTnapr/bxtTnapr/bxtTnapr/bxtTnapr/apr:T
make_timestamp_ntz:byhilfdmsSxTnapr/byhilfdmsSxtTnapr:n
make_timestamp_ntz:bxtTnapr/bxtTnapr/bxtTnapr/bxtTnapr/bxtTnapr/bxtTnapr:n make_valid_utf8:apr:s
make_ym_interval:bxtTnapr:? make_ym_interval:bxtTnapr/bxtTnapr:? map:-:p
map_concat:byhilfdmsSxtTnar:p map_concat:byhilfdmsSxtTnar/byhilfdmsSxtTnar:p
map_concat:byhilfdmsSxtTnar/byhilfdmsSxtTnar/byhilfdmsSxtTnar:p map_concat:-:p
map_contains_key:byhilfdmsSxtTnar/bxtTnapr:b map_entries:byhilfdmsSxtTnar:a
map_from_arrays:byhilfdmsSxtTnpr/byhilfdmsSxtTnpr:p map_from_entries:byhilfdmsSxtTnpr:p
map_keys:byhilfdmsSxtTnar:a map_values:byhilfdmsSxtTnar:a mask:byhilfdmxtTnapr:s
mask:byhilfdmxtTnapr/byhilfdmxtTnapr:s mask:byhilfdmxtTnapr/byhilfdmxtTnapr/byhilfdmxtTnapr:s
mask:byhilfdmxtTnapr/byhilfdmxtTnapr/byhilfdmxtTnapr/byhilfdmxtTnapr:s
mask:byhilfdmxtTnapr/byhilfdmxtTnapr/byhilfdmxtTnapr/byhilfdmxtTnapr/byhilfdmxtTnapr:s max:p:?
max_by:/p:? max_by:/p/bxtTnapr:a md5:byhilfdmtTnapr:s mean:bxtnapr:? median:bxapr:d min:p:?
min_by:/p:? min_by:/p/bxtTnapr:a minute:byhilfdmxapr:i mod:bxtTnapr/bxtTnapr:?
monotonically_increasing_id:-:l month:byhilfdmxapr:i monthname:byhilfdmxapr:s
months_between:byhilfdmxapr/byhilfdmxapr:d months_between:byhilfdmxapr/byhilfdmxapr/yhilfdmxtTnapr:d
named_struct:-:r nanvl:bxtTnapr/bxtTnapr:? negative:bxtTnapr:? next_day:byhilfdmxapr/apr:t now:-:T
ntile:S:i ntile:-:i nullifzero:bxtTnapr:? octet_length:apr:i overlay:apr/apr/bxtTnapr:?
overlay:apr/apr/bxtTnapr/bxtTnapr:? parse_json:byhilfdmxtTnapr:?
parse_url:byhilfdmxtTnapr/byhilfdmxtTnapr:s
parse_url:byhilfdmxtTnapr/byhilfdmxtTnapr/byhilfdmxtTnapr:s percent_rank::d percent_rank:-:d
percentile:bxapr/:? percentile:bxapr/bxpr/bfdmsSxapr:? percentile_approx:bxapr/bxtTnpr:?
percentile_approx:bxapr/bxtTnpr/bfdmsSxtTnapr:? pi:-:d pmod:bxtTnapr/bxtTnapr:? position:apr/apr:i
position:apr/apr/bxtTnapr:i positive:bxtTnapr:? pow:bxtTnapr/bxtTnapr:d power:bxtTnapr/bxtTnapr:d
printf:apr:s printf:apr//:s quarter:byhilfdmxapr:i quote:apr:s radians:bxtTnapr:d raise_error:apr:?
rand:byhfdmsSxtTnapr:d rand:-:d randn:byhfdmsSxtTnapr:d randn:-:d random:byhfdmsSxtTnapr:d random:-:d
randstr:bxtTnapr:s rank::i rank:-:i regexp:apr/apr:b regexp_count:apr/apr:i regexp_extract:apr/apr:s
regexp_extract:apr/apr/bxtTnapr:s regexp_extract_all:apr/apr:a regexp_extract_all:apr/apr/bxtTnapr:a
regexp_instr:apr/apr:i regexp_instr:apr/apr/bxtTnapr:i regexp_like:apr/apr:b
regexp_replace:apr/apr/apr:s regexp_replace:apr/apr/apr/bxtTnapr:s regexp_substr:apr/apr:s
regr_avgx:bxtTnapr/bxtTnapr:? regr_avgy:bxtTnapr/bxtTnapr:? regr_count:bxtTnapr/bxtTnapr:l
regr_intercept:bxtTnapr/bxtTnapr:d regr_r2:bxtTnapr/bxtTnapr:d regr_slope:bxtTnapr/bxtTnapr:d
regr_sxx:bxtTnapr/bxtTnapr:d regr_sxy:bxtTnapr/bxtTnapr:d regr_syy:bxtTnapr/bxtTnapr:d
repeat:apr/bxtTnapr:s replace:apr/apr:s replace:apr/apr/apr:s reverse:pr:? right:apr/bxtTnapr:s
rint:bxtTnapr:d rlike:apr/apr:b round:bxtTnapr:? round:bxtTnapr/bxtTnapr:? row_number:-:i
rpad:apr/bxtTnapr:? rpad:apr/bxtTnapr/apr:s rtrim:apr:s rtrim:apr/apr:s schema_of_csv::s
schema_of_json::s schema_of_variant:byhilfdmsSxtTnapr:s schema_of_variant_agg:byhilfdmsSxtTnapr:s
schema_of_xml::s sec:bxtTnapr:d second:byhilfdmxapr:i sentences:apr:a session_user:-:s
sha:byhilfdmtTnapr:s sha1:byhilfdmtTnapr:s sha2:byhilfdmtTnapr/bxtTnapr:s
shiftleft:bxtTnapr/bxtTnapr:? shiftright:bxtTnapr/bxtTnapr:? shiftrightunsigned:bxtTnapr/bxtTnapr:?
shuffle:byhilfdmsSxtTnpr:a sign:bxtTnapr:d signum:bxtTnapr:d sin:bxtTnapr:d sinh:bxtTnapr:d
size:byhilfdmsSxtTnr:i skewness:bxtTnapr:d slice:byhilfdmsSxtTnpr/bxtTnapr/bxtTnapr:a
smallint:xtnapr:h some:yhilfdmxtTnapr:b sort_array:byhilfdmsSxtTnpr:a sort_array:byhilfdmsSxtTnpr/S:a
soundex:byhilfdmxtTnapr:s space:bxtTnapr:s spark_partition_id:-:i split:apr/apr:a
split:apr/apr/bxtTnapr:a split_part:apr/apr/bxtTnapr:s sqrt:bxtTnapr:d
st_asbinary:byhilfdmsSxtTnapr:x st_geogfromwkb:byhilfdmtTnapr:? st_geomfromwkb:byhilfdmtTnapr:?
st_srid:byhilfdmsSxtTnapr:i startswith:apr/apr:b std:bxtTnapr:d stddev:bxtTnapr:d
stddev_pop:bxtTnapr:d stddev_samp:bxtTnapr:d str_to_map:byhilfdmxtTnapr:p
str_to_map:byhilfdmxtTnapr/byhilfdmxtTnapr:p
str_to_map:byhilfdmxtTnapr/byhilfdmxtTnapr/byhilfdmxtTnapr:p string::s string_agg:apr:? struct::r
struct:-:r substr:apr/bxtTnapr:? substr:apr/bxtTnapr/bxtTnapr:? substring:apr/bxtTnapr:?
substring:apr/bxtTnapr/bxtTnapr:? substring_index:apr/apr/bxtTnapr:s sum:bxtnapr:? tan:bxtTnapr:d
tanh:bxtTnapr:d theta_intersection_agg:byhilfdmsStTnapr:x theta_sketch_agg:byhmtTnpr:x
theta_sketch_estimate:byhilfdmsStTnapr:l theta_union_agg:byhilfdmsStTnapr:x timestamp:bxapr:T
timestamp_micros:bfdmsSxtTnapr:T timestamp_millis:bfdmsSxtTnapr:T timestamp_nanos:bfdsSxtTnapr:?
timestamp_seconds:bsSxtTnapr:T tinyint:xtnapr:y to_base32:byhilfdmtTnapr:s to_binary:apr:x
to_binary:/:x to_char:bapr/:s to_csv:byhilfdmsSxtTnap:s to_date:apr:t to_date:apr/apr:t
to_json:byhilfdmsSxtTn:s to_timestamp:apr:T to_timestamp:apr/apr:T to_timestamp_ltz:apr:T
to_timestamp_ltz:apr/apr:T to_timestamp_ntz:apr:n to_timestamp_ntz:apr/apr:n
to_unix_timestamp:byhilfdmxapr:l to_unix_timestamp:byhilfdmxapr/byhilfdmxtTnapr:l
to_utc_timestamp:byhilfdmxapr/apr:T to_varchar:bapr/:s to_variant_object:byhilfdmsSxtTn:?
to_xml:byhilfdmsSxtTnap:s translate:apr/apr/apr:s trim:apr:s trim:apr/apr:s trunc:byhilfdmxapr/apr:t
try_aes_decrypt:byhilfdmtTnapr/byhilfdmtTnapr:x try_aes_decrypt:byhilfdmtTnapr/byhilfdmtTnapr/apr:x
try_aes_decrypt:byhilfdmtTnapr/byhilfdmtTnapr/apr/apr:x
try_aes_decrypt:byhilfdmtTnapr/byhilfdmtTnapr/apr/apr/byhilfdmtTnapr:x try_avg:bxtnapr:?
try_divide:bxtTnapr/bxtTnapr:? try_element_at:byhilfdmsSxtTnr/:? try_make_interval:bxtTnapr:?
try_make_interval:bxtTnapr/bxtTnapr:? try_make_interval:bxtTnapr/bxtTnapr/bxtTnapr:?
try_make_interval:bxtTnapr/bxtTnapr/bxtTnapr/bxtTnapr:?
try_make_interval:bxtTnapr/bxtTnapr/bxtTnapr/bxtTnapr/bxtTnapr:?
try_make_interval:bxtTnapr/bxtTnapr/bxtTnapr/bxtTnapr/bxtTnapr/bxtTnapr:?
try_make_interval:bxtTnapr/bxtTnapr/bxtTnapr/bxtTnapr/bxtTnapr/bxtTnapr/bxtTnapr:?
try_make_timestamp:byhilfdmsSxTnapr:T try_make_timestamp:byhilfdmsSxTnapr/byhilfdmsSxtTnapr:T
try_make_timestamp:byhilfdmsSxTnapr/byhilfdmsSxtTnapr/byhilfdmxtTnapr:T
try_make_timestamp:bxtTnapr/bxtTnapr/bxtTnapr/bxtTnapr/bxtTnapr/bxtTnapr:T
try_make_timestamp:bxtTnapr/bxtTnapr/bxtTnapr/bxtTnapr/bxtTnapr/bxtTnapr/apr:T
try_make_timestamp_ltz:byhilfdmsSxTnapr/byhilfdmsSxtTnapr:T
try_make_timestamp_ltz:byhilfdmsSxTnapr/byhilfdmsSxtTnapr/byhilfdmxtTnapr:T
try_make_timestamp_ltz:bxtTnapr/bxtTnapr/bxtTnapr/bxtTnapr/bxtTnapr/bxtTnapr:T
try_make_timestamp_ltz:bxtTnapr/bxtTnapr/bxtTnapr/bxtTnapr/bxtTnapr/bxtTnapr/apr:T
try_make_timestamp_ntz:byhilfdmsSxTnapr/byhilfdmsSxtTnapr:n
try_make_timestamp_ntz:bxtTnapr/bxtTnapr/bxtTnapr/bxtTnapr/bxtTnapr/bxtTnapr:n
try_mod:bxtTnapr/bxtTnapr:? try_multiply:bxtTnapr/bxtTnapr:? try_parse_json:byhilfdmxtTnapr:?
try_subtract:bxapr/bxapr:? try_sum:bxtnapr:? try_to_binary:apr:x try_to_binary:/:x try_to_date:apr:t
try_to_date:apr/apr:t try_to_timestamp:apr:T try_to_timestamp:apr/apr:T try_url_decode:apr:s
try_validate_utf8:apr:s tuple_intersection_agg_double:byhilfdmtTnapr:x
tuple_intersection_agg_integer:byhilfdmtTnapr:x tuple_sketch_estimate_double:byhilfdmsStTnapr:d
tuple_sketch_estimate_integer:byhilfdmsStTnapr:d tuple_sketch_summary_double:byhilfdmsStTnapr:d
tuple_sketch_summary_integer:byhilfdmsStTnapr:l tuple_sketch_theta_double:byhilfdmsStTnapr:d
tuple_sketch_theta_integer:byhilfdmsStTnapr:d tuple_union_agg_double:byhilfdmtTnapr:x
tuple_union_agg_integer:byhilfdmtTnapr:x typeof::s ucase:apr:s unbase64:apr:x unhex:apr:x
unix_date:byhilfdmsSxTnapr:i unix_micros:byhilfdmsSxtapr:l unix_millis:byhilfdmsSxtapr:l
unix_nanos:byhilfdmsSxtTnapr:m unix_seconds:byhilfdmsSxtapr:l unix_timestamp:byhilfdmxapr:l
unix_timestamp:byhilfdmxapr/byhilfdmxtTnapr:l unix_timestamp:-:l upper:apr:s url_decode:apr:s
url_encode:apr:s user:-:s uuid::s uuid:-:s validate_utf8:apr:s var_pop:bxtTnapr:d var_samp:bxtTnapr:d
variance:bxtTnapr:d variant_strip_nulls:byhilfdmsSxtTnapr:? vector_avg:byhilfdmsSxtTnpr:a
vector_cosine_similarity:byhilfdmsSxtTnpr/byhilfdmsSxtTnpr:f
vector_inner_product:byhilfdmsSxtTnpr/byhilfdmsSxtTnpr:f
vector_l2_distance:byhilfdmsSxtTnpr/byhilfdmsSxtTnpr:f vector_norm:byhilfdmsSxtTnpr:f
vector_normalize:byhilfdmsSxtTnpr:a vector_sum:byhilfdmsSxtTnpr:a version:-:s weekday:byhilfdmxapr:i
weekofyear:byhilfdmxapr:i width_bucket:bxtTnapr/bxtTnapr/bxtTnapr/bxtTnapr:l xpath:/:a
xpath_boolean:/:b xpath_double:/:d xpath_float:/:f xpath_int:/:i xpath_long:/:l xpath_number:/:d
xpath_short:/:h xpath_string:/:s xxhash64:p:l xxhash64:p/p/p:l year:byhilfdmxapr:i
zeroifnull:bxtTnapr:?
"""
#: Of each operator and kind on its left, what the kinds on its right make of it: a kind, `!` where Spark
#: refuses it, `?` where more decides. On the right, or as types of a cast, kinds stand in this order.
ON_THE_RIGHT = "byhilfdmsSxtTnapr"
OPERATORS = """
=:b:b!!!!!!!bb!!!!!!! =:y:!bbbbbbbbb!!!!!!! =:h:!bbbbbbbbb!!!!!!! =:i:!bbbbbbbbb!!!!!!!
=:l:!bbbbbbbbb!!!!!!! =:f:!bbbbbbbbb!!!!!!! =:d:!bbbbbbbbb!!!!!!! =:m:!bbbbbbbbb!!!!!!!
=:s:bbbbbbbbbbbbbb!!! =:S:bbbbbbbbbbbbbb!!! =:x:!!!!!!!!bbb!!!!!! =:t:!!!!!!!!bb!bbb!!!
=:T:!!!!!!!!bb!bbb!!! =:n:!!!!!!!!bb!bbb!!! =:a:!!!!!!!!!!!!!!b!! =:p:!!!!!!!!!!!!!!!!!
=:r:!!!!!!!!!!!!!!!!b <:b:b!!!!!!!bb!!!!!!! <:y:!bbbbbbbbb!!!!!!! <:h:!bbbbbbbbb!!!!!!!
<:i:!bbbbbbbbb!!!!!!! <:l:!bbbbbbbbb!!!!!!! <:f:!bbbbbbbbb!!!!!!! <:d:!bbbbbbbbb!!!!!!!
<:m:!bbbbbbbbb!!!!!!! <:s:bbbbbbbbbbbbbb!!! <:S:bbbbbbbbbbbbbb!!! <:x:!!!!!!!!bbb!!!!!!
<:t:!!!!!!!!bb!bbb!!! <:T:!!!!!!!!bb!bbb!!! <:n:!!!!!!!!bb!bbb!!! <:a:!!!!!!!!!!!!!!b!!
<:p:!!!!!!!!!!!!!!!!! <:r:!!!!!!!!!!!!!!!!b +:b:!!!!!!!!!!!!!!!!! +:y:!yhilddmll!t!!!!!
+:h:!hhilddmll!t!!!!! +:i:!iiilddmll!t!!!!! +:l:!llllddmll!!!!!!! +:f:!ddddfdddd!!!!!!!
+:d:!ddddddddd!!!!!!! +:m:!mmmmddmdd!!!!!!! +:s:!llllddd!!!!!!!!! +:S:!llllddd!!!!!!!!!
+:x:!!!!!!!!!!!!!!!!! +:t:!ttt!!!!!!!!!!!!! +:T:!!!!!!!!!!!!!!!!! +:n:!!!!!!!!!!!!!!!!!
+:a:!!!!!!!!!!!!!!!!! +:p:!!!!!!!!!!!!!!!!! +:r:!!!!!!!!!!!!!!!!! -:b:!!!!!!!!!!!!!!!!!
-:y:!yhilddmll!!!!!!! -:h:!hhilddmll!!!!!!! -:i:!iiilddmll!!!!!!! -:l:!llllddmll!!!!!!!
-:f:!ddddfdddd!!!!!!! -:d:!ddddddddd!!!!!!! -:m:!mmmmddmdd!!!!!!! -:s:!llllddd!!!???!!!
-:S:!llllddd!!!???!!! -:x:!!!!!!!!!!!!!!!!! -:t:!ttt!!!!??!???!!! -:T:!!!!!!!!??!???!!!
-:n:!!!!!!!!??!???!!! -:a:!!!!!!!!!!!!!!!!! -:p:!!!!!!!!!!!!!!!!! -:r:!!!!!!!!!!!!!!!!!
*:b:!!!!!!!!!!!!!!!!! *:y:!yhilddmll!!!!!!! *:h:!hhilddmll!!!!!!! *:i:!iiilddmll!!!!!!!
*:l:!llllddmll!!!!!!! *:f:!ddddfdddd!!!!!!! *:d:!ddddddddd!!!!!!! *:m:!mmmmddmdd!!!!!!!
*:s:!llllddd!!!!!!!!! *:S:!llllddd!!!!!!!!! *:x:!!!!!!!!!!!!!!!!! *:t:!!!!!!!!!!!!!!!!!
*:T:!!!!!!!!!!!!!!!!! *:n:!!!!!!!!!!!!!!!!! *:a:!!!!!!!!!!!!!!!!! *:p:!!!!!!!!!!!!!!!!!
*:r:!!!!!!!!!!!!!!!!! /:b:!!!!!!!!!!!!!!!!! /:y:!ddddddmdd!!!!!!! /:h:!ddddddmdd!!!!!!!
/:i:!ddddddmdd!!!!!!! /:l:!ddddddmdd!!!!!!! /:f:!ddddddddd!!!!!!! /:d:!ddddddddd!!!!!!!
/:m:!mmmmddmdd!!!!!!! /:s:!ddddddd!!!!!!!!! /:S:!ddddddd!!!!!!!!! /:x:!!!!!!!!!!!!!!!!!
/:t:!!!!!!!!!!!!!!!!! /:T:!!!!!!!!!!!!!!!!! /:n:!!!!!!!!!!!!!!!!! /:a:!!!!!!!!!!!!!!!!!
/:p:!!!!!!!!!!!!!!!!! /:r:!!!!!!!!!!!!!!!!! %:b:!!!!!!!!!!!!!!!!! %:y:!yhilddmll!!!!!!!
%:h:!hhilddmll!!!!!!! %:i:!iiilddmll!!!!!!! %:l:!llllddmll!!!!!!! %:f:!ddddfdddd!!!!!!!
%:d:!ddddddddd!!!!!!! %:m:!mmmmddmdd!!!!!!! %:s:!llllddd!!!!!!!!! %:S:!llllddd!!!!!!!!!
%:x:!!!!!!!!!!!!!!!!! %:t:!!!!!!!!!!!!!!!!! %:T:!!!!!!!!!!!!!!!!! %:n:!!!!!!!!!!!!!!!!!
%:a:!!!!!!!!!!!!!!!!! %:p:!!!!!!!!!!!!!!!!! %:r:!!!!!!!!!!!!!!!!! div:b:!!!!!!!!!!!!!!!!!
div:y:!llll!!lll!!!!!!! div:h:!llll!!lll!!!!!!! div:i:!llll!!lll!!!!!!! div:l:!llll!!lll!!!!!!!
div:f:!!!!!!!!!!!!!!!!! div:d:!!!!!!!!!!!!!!!!! div:m:!llll!!l!!!!!!!!! div:s:!llll!!!!!!!!!!!!
div:S:!llll!!!!!!!!!!!! div:x:!!!!!!!!!!!!!!!!! div:t:!!!!!!!!!!!!!!!!! div:T:!!!!!!!!!!!!!!!!!
div:n:!!!!!!!!!!!!!!!!! div:a:!!!!!!!!!!!!!!!!! div:p:!!!!!!!!!!!!!!!!! div:r:!!!!!!!!!!!!!!!!!
||:b:ssssssssssssss!!! ||:y:ssssssssssssss!!! ||:h:ssssssssssssss!!! ||:i:ssssssssssssss!!!
||:l:ssssssssssssss!!! ||:f:ssssssssssssss!!! ||:d:ssssssssssssss!!! ||:m:ssssssssssssss!!!
||:s:ssssssssssssss!!! ||:S:ssssssssssssss!!! ||:x:ssssssssssxsss!!! ||:t:ssssssssssssss!!!
||:T:ssssssssssssss!!! ||:n:ssssssssssssss!!! ||:a:!!!!!!!!!!!!!!a!! ||:p:!!!!!!!!!!!!!!!!!
||:r:!!!!!!!!!!!!!!!!! &:b:!!!!!!!!!!!!!!!!! &:y:!yhil!!!ll!!!!!!! &:h:!hhil!!!ll!!!!!!!
&:i:!iiil!!!ll!!!!!!! &:l:!llll!!!ll!!!!!!! &:f:!!!!!!!!!!!!!!!!! &:d:!!!!!!!!!!!!!!!!!
&:m:!!!!!!!!!!!!!!!!! &:s:!llll!!!!!!!!!!!! &:S:!llll!!!!!!!!!!!! &:x:!!!!!!!!!!!!!!!!!
&:t:!!!!!!!!!!!!!!!!! &:T:!!!!!!!!!!!!!!!!! &:n:!!!!!!!!!!!!!!!!! &:a:!!!!!!!!!!!!!!!!!
&:p:!!!!!!!!!!!!!!!!! &:r:!!!!!!!!!!!!!!!!! and:b:b!!!!!!!bb!!!!!!! and:y:!!!!!!!!!!!!!!!!!
and:h:!!!!!!!!!!!!!!!!! and:i:!!!!!!!!!!!!!!!!! and:l:!!!!!!!!!!!!!!!!! and:f:!!!!!!!!!!!!!!!!!
and:d:!!!!!!!!!!!!!!!!! and:m:!!!!!!!!!!!!!!!!! and:s:b!!!!!!!!!!!!!!!! and:S:b!!!!!!!!!!!!!!!!
and:x:!!!!!!!!!!!!!!!!! and:t:!!!!!!!!!!!!!!!!! and:T:!!!!!!!!!!!!!!!!! and:n:!!!!!!!!!!!!!!!!!
and:a:!!!!!!!!!!!!!!!!! and:p:!!!!!!!!!!!!!!!!! and:r:!!!!!!!!!!!!!!!!! like:b:bbbbbbbbbbbbbb!!!
like:y:bbbbbbbbbbbbbb!!! like:h:bbbbbbbbbbbbbb!!! like:i:bbbbbbbbbbbbbb!!! like:l:bbbbbbbbbbbbbb!!!
like:f:bbbbbbbbbbbbbb!!! like:d:bbbbbbbbbbbbbb!!! like:m:bbbbbbbbbbbbbb!!! like:s:bbbbbbbbbbbbbb!!!
like:S:bbbbbbbbbbbbbb!!! like:x:bbbbbbbbbbbbbb!!! like:t:bbbbbbbbbbbbbb!!! like:T:bbbbbbbbbbbbbb!!!
like:n:bbbbbbbbbbbbbb!!! like:a:!!!!!!!!!!!!!!!!! like:p:!!!!!!!!!!!!!!!!! like:r:!!!!!!!!!!!!!!!!!
coalesce:b:b!!!!!!!bb!!!!!!! coalesce:y:!yhilddmll!!!!!!! coalesce:h:!hhilddmll!!!!!!!
coalesce:i:!iiilddmll!!!!!!! coalesce:l:!llllddmll!!!!!!! coalesce:f:!ddddfdddd!!!!!!!
coalesce:d:!ddddddddd!!!!!!! coalesce:m:!mmmmddmdd!!!!!!! coalesce:s:blllldddssxtTn!!!
coalesce:S:blllldddssxtTn!!! coalesce:x:!!!!!!!!xxx!!!!!! coalesce:t:!!!!!!!!tt!tTn!!!
coalesce:T:!!!!!!!!TT!TTT!!! coalesce:n:!!!!!!!!nn!nTn!!! coalesce:a:!!!!!!!!!!!!!!a!!
coalesce:p:!!!!!!!!!!!!!!!p! coalesce:r:!!!!!!!!!!!!!!!!r greatest:b:b!!!!!!!!!!!!!!!!
greatest:y:!yhilddm!!!!!!!!! greatest:h:!hhilddm!!!!!!!!! greatest:i:!iiilddm!!!!!!!!!
greatest:l:!llllddm!!!!!!!!! greatest:f:!ddddfdd!!!!!!!!! greatest:d:!ddddddd!!!!!!!!!
greatest:m:!mmmmddm!!!!!!!!! greatest:s:!!!!!!!!ss!!!!!!! greatest:S:!!!!!!!!ss!!!!!!!
greatest:x:!!!!!!!!!!x!!!!!! greatest:t:!!!!!!!!!!!tTn!!! greatest:T:!!!!!!!!!!!TTT!!!
greatest:n:!!!!!!!!!!!nTn!!! greatest:a:!!!!!!!!!!!!!!a!! greatest:p:!!!!!!!!!!!!!!!!!
greatest:r:!!!!!!!!!!!!!!!!r array:b:a!!!!!!!aa!!!!!!! array:y:!aaaaaaaaa!!!!!!!
array:h:!aaaaaaaaa!!!!!!! array:i:!aaaaaaaaa!!!!!!! array:l:!aaaaaaaaa!!!!!!!
array:f:!aaaaaaaaa!!!!!!! array:d:!aaaaaaaaa!!!!!!! array:m:!aaaaaaaaa!!!!!!!
array:s:aaaaaaaaaaaaaa!!! array:S:aaaaaaaaaaaaaa!!! array:x:!!!!!!!!aaa!!!!!!
array:t:!!!!!!!!aa!aaa!!! array:T:!!!!!!!!aa!aaa!!! array:n:!!!!!!!!aa!aaa!!!
array:a:!!!!!!!!!!!!!!a!! array:p:!!!!!!!!!!!!!!!a! array:r:!!!!!!!!!!!!!!!!a in:b:b!!!!!!!bb!!!!!!!
in:y:!bbbbbbbbb!!!!!!! in:h:!bbbbbbbbb!!!!!!! in:i:!bbbbbbbbb!!!!!!! in:l:!bbbbbbbbb!!!!!!!
in:f:!bbbbbbbbb!!!!!!! in:d:!bbbbbbbbb!!!!!!! in:m:!bbbbbbbbb!!!!!!! in:s:bbbbbbbbbbbbbb!!!
in:S:bbbbbbbbbbbbbb!!! in:x:!!!!!!!!bbb!!!!!! in:t:!!!!!!!!bb!bbb!!! in:T:!!!!!!!!bb!bbb!!!
in:n:!!!!!!!!bb!bbb!!! in:a:!!!!!!!!!!!!!!b!! in:p:!!!!!!!!!!!!!!!!! in:r:!!!!!!!!!!!!!!!!b not:b:b
not:y:! not:h:! not:i:! not:l:! not:f:! not:d:! not:m:! not:s:b not:S:b not:x:! not:t:! not:T:!
not:n:! not:a:! not:p:! not:r:! ~:b:! ~:y:y ~:h:h ~:i:i ~:l:l ~:f:! ~:d:! ~:m:! ~:s:! ~:S:! ~:x:!
~:t:! ~:T:! ~:n:! ~:a:! ~:p:! ~:r:! neg:b:! neg:y:y neg:h:h neg:i:i neg:l:l neg:f:f neg:d:d neg:m:m
neg:s:d neg:S:d neg:x:! neg:t:! neg:T:! neg:n:! neg:a:! neg:p:! neg:r:! when:b:i when:y:! when:h:!
when:i:! when:l:! when:f:! when:d:! when:m:! when:s:! when:S:! when:x:! when:t:! when:T:! when:n:!
when:a:! when:p:! when:r:! cast:b:byhilfdmss!!!!!!! cast:y:byhilfdmss!!T!!!! cast:h:byhilfdmss!!T!!!!
cast:i:byhilfdmss!!T!!!! cast:l:byhilfdmss!!T!!!! cast:f:byhilfdmss!!T!!!! cast:d:byhilfdmss!!T!!!!
cast:m:byhilfdmss!!T!!!! cast:s:byhilfdmssxtTn!!! cast:S:byhilfdmssxtTn!!! cast:x:!!!!!!!!ssx!!!!!!
cast:t:!!!!!!!!ss!tTn!!! cast:T:!yhilfdmss!tTn!!! cast:n:!!!!!!!!ss!tTn!!! cast:a:!!!!!!!!ss!!!!a!!
cast:p:!!!!!!!!ss!!!!!p! cast:r:!!!!!!!!ss!!!!!!r try_cast:b:byhilfdmss!!!!!!!
try_cast:y:byhilfdmss!!T!!!! try_cast:h:byhilfdmss!!T!!!! try_cast:i:byhilfdmss!!T!!!!
try_cast:l:byhilfdmss!!T!!!! try_cast:f:byhilfdmss!!T!!!! try_cast:d:byhilfdmss!!T!!!!
try_cast:m:byhilfdmss!!T!!!! try_cast:s:byhilfdmssxtTn!!! try_cast:S:byhilfdmssxtTn!!!
try_cast:x:!!!!!!!!ssx!!!!!! try_cast:t:!!!!!!!!ss!tTn!!! try_cast:T:!yhilfdmss!tTn!!!
try_cast:n:!!!!!!!!ss!tTn!!! try_cast:a:!!!!!!!!ss!!!!a!! try_cast:p:!!!!!!!!ss!!!!!p!
try_cast:r:!!!!!!!!ss!!!!!!r
"""
