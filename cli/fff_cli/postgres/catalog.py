"""PostgreSQL's catalog of the tables here: what clients ask to draw their trees of tables; DuckDB answers.

Only what clients ask for is there: tables, columns, keys and comments; policies, triggers and such are empty.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import pyarrow as pa

from fff.catalog import Table
from fff.errors import QueryError
from fff.structs import replace
from fff_cli.output.sinks.duck import catalog_database, failures
from fff_cli.postgres.dialect import Token, tokens
from fff_cli.postgres.parameters import ARRAYS
from fff_cli.postgres.values import wire_type

ArrowTable: TypeAlias = pa.Table
#: By table, what is in it for one session alone.
OwnRows: TypeAlias = Mapping[str, Sequence[Mapping[str, object]]]
DATABASE, OWNER = "fff", 10
_FIRST = 16384  # numbers below are PostgreSQL's own
_SECONDS = 10.0
_PUBLIC, _CATALOG, _INFORMATION, _SPACE = 2200, 11, 13000, 1663

#: Tables with their columns: text without a mark, `#` a number, `?` a truth, `*` numbers, `@` texts.
_SHAPES = {
    "pg_namespace": "oid# nspname nspowner# nspacl@",
    "pg_class": "oid# relname relnamespace# reltype# reloftype# relowner# relam# relfilenode# reltablespace# relpages# reltuples# relallvisible# reltoastrelid# relhasindex? relisshared? relpersistence relkind relnatts# relchecks# relhasrules? relhastriggers? relhassubclass? relrowsecurity? relforcerowsecurity? relispopulated? relreplident relispartition? relrewrite# relfrozenxid# relminmxid# relacl@ reloptions@ relpartbound relhasoids?",
    "pg_attribute": "attrelid# attname atttypid# attstattarget# attlen# attnum# attndims# attcacheoff# atttypmod# attbyval? attalign attstorage attcompression attnotnull? atthasdef? atthasmissing? attidentity attgenerated attisdropped? attislocal? attinhcount# attcollation# attacl@ attoptions@ attfdwoptions@",
    "pg_type": "oid# typname typnamespace# typowner# typlen# typbyval? typtype typcategory typispreferred? typisdefined? typdelim typrelid# typsubscript# typelem# typarray# typinput typoutput typreceive typsend typnotnull? typbasetype# typtypmod# typndims# typcollation# typdefault typacl@",
    "pg_constraint": "oid# conname connamespace# contype condeferrable? condeferred? convalidated? conrelid# contypid# conindid# conparentid# confrelid# confupdtype confdeltype confmatchtype conislocal? coninhcount# connoinherit? conkey* confkey* conbin",
    "pg_index": "indexrelid# indrelid# indnatts# indnkeyatts# indisunique? indisprimary? indisexclusion? indimmediate? indisclustered? indisvalid? indcheckxmin? indisready? indislive? indisreplident? indkey* indcollation* indclass* indoption* indexprs indpred indnullsnotdistinct?",
    "pg_description": "objoid# classoid# objsubid# description",
    "pg_database": "oid# datname datdba# encoding# datlocprovider datistemplate? datallowconn? datconnlimit# datcollate datctype daticulocale datacl@ dattablespace#",
    "pg_roles": "oid# rolname rolsuper? rolinherit? rolcreaterole? rolcreatedb? rolcanlogin? rolreplication? rolconnlimit# rolpassword rolvaliduntil rolbypassrls? rolconfig@",
    "pg_user": "usesysid# usename usecreatedb? usesuper?",
    "pg_am": "oid# amname amhandler# amtype",
    "pg_settings": "name setting unit category short_desc source vartype context boot_val",
    "pg_tables": "schemaname tablename tableowner tablespace hasindexes? hasrules? hastriggers? rowsecurity?",
    "pg_views": "schemaname viewname viewowner definition",
    "pg_matviews": "schemaname matviewname matviewowner definition",
    "pg_attrdef": "oid# adrelid# adnum# adbin",
    "pg_collation": "oid# collname collnamespace# collowner# collprovider collencoding# collcollate collctype colliculocale collisdeterministic?",
    "pg_enum": "oid# enumtypid# enumsortorder# enumlabel",
    "pg_range": "rngtypid# rngsubtype# rngmultitypid#",
    "pg_proc": "oid# proname pronamespace# proowner# prolang# prokind prorettype# proargtypes* proargnames@ proisagg? proretset? pronargs# provolatile proparallel prosecdef? proacl@ prosrc",
    "pg_inherits": "inhrelid# inhparent# inhseqno# inhdetachpending?",
    "pg_policy": "oid# polname polrelid# polcmd polpermissive? polroles* polqual polwithcheck",
    "pg_trigger": "oid# tgrelid# tgname tgfoid# tgtype# tgenabled tgisinternal? tgconstraint# tgparentid#",
    "pg_rewrite": "oid# rulename ev_class# ev_type ev_enabled is_instead?",
    "pg_statistic_ext": "oid# stxrelid# stxname stxnamespace# stxstattarget# stxkind@ stxkeys*",
    "pg_publication": "oid# pubname puballtables? pubowner# pubinsert? pubupdate? pubdelete? pubtruncate? pubviaroot?",
    "pg_publication_rel": "oid# prpubid# prrelid# prqual prattrs*",
    "pg_publication_namespace": "oid# pnpubid# pnnspid#",
    "pg_foreign_table": "ftrelid# ftserver# ftoptions@",
    "pg_foreign_server": "oid# srvname srvfdw# srvowner# srvtype srvversion srvacl@ srvoptions@",
    "pg_extension": "oid# extname extowner# extnamespace# extversion",
    "pg_depend": "classid# objid# objsubid# refclassid# refobjid# refobjsubid# deptype",
    "pg_sequence": "seqrelid# seqtypid# seqstart# seqincrement# seqmin# seqmax# seqcache# seqcycle?",
    "pg_tablespace": "oid# spcname spcowner# spcacl@ spcoptions@",
    "pg_stat_activity": "datid# datname pid# usename application_name state query",
    "pg_partitioned_table": "partrelid# partstrat",
    "pg_language": "oid# lanname lanowner# lanispl? lanpltrusted? lanplcallfoid# laninline# lanvalidator# lanacl@",
    "pg_auth_members": "roleid# member# grantor# admin_option?",
    "pg_event_trigger": "oid# evtname evtevent evtowner# evtfoid# evtenabled evttags@",
    "pg_operator": "oid# oprname oprnamespace# oprleft# oprright# oprresult# oprcode# oprkind oprowner#",
    "pg_opclass": "oid# opcname opcmethod# opcdefault? opcname opcnamespace# opcowner# opcfamily# opcintype# opckeytype#",
    "pg_locks": "locktype pid#",
    "pg_stat_user_tables": "relid# schemaname relname n_live_tup#",
    "pg_cursors": "name statement is_holdable? is_binary? is_scrollable?",
    "pg_prepared_statements": "name statement parameter_types@ from_sql?",
    "pg_opfamily": "oid# opfmethod# opfname opfnamespace# opfowner#",
    "pg_amop": "oid# amopfamily# amoplefttype# amoprighttype# amopstrategy# amoppurpose amopopr# amopmethod# amopsortfamily#",
    "pg_amproc": "oid# amprocfamily# amproclefttype# amprocrighttype# amprocnum# amproc#",
    "pg_cast": "oid# castsource# casttarget# castfunc# castcontext castmethod",
    "pg_ts_config": "oid# cfgname cfgnamespace# cfgowner# cfgparser#",
    "pg_ts_config_map": "mapcfg# maptokentype# mapseqno# mapdict#",
    "pg_ts_dict": "oid# dictname dictnamespace# dictowner# dicttemplate# dictinitoption",
    "pg_ts_parser": "oid# prsname prsnamespace# prsstart# prstoken# prsend# prsheadline# prslextype#",
    "pg_ts_template": "oid# tmplname tmplnamespace# tmplinit# tmpllexize#",
    "pg_conversion": "oid# conname connamespace# conowner# conforencoding# contoencoding# conproc# condefault?",
    "pg_parameter_acl": "oid# parname paracl@",
    "pg_default_acl": "oid# defaclrole# defaclnamespace# defaclobjtype defaclacl@",
    "pg_foreign_data_wrapper": "oid# fdwname fdwowner# fdwhandler# fdwvalidator# fdwacl@ fdwoptions@",
    "pg_user_mappings": "umid# srvid# srvname umuser# usename umoptions@",
    "pg_subscription": "oid# subdbid# subname subowner# subenabled? subbinary? substream? subtwophasestate subdisableonerr? subconninfo subslotname subsynccommit subpublications@ subskiplsn",
    "pg_largeobject_metadata": "oid# lomowner# lomacl@",
    "pg_db_role_setting": "setdatabase# setrole# setconfig@",
    "is_schemata": "catalog_name schema_name schema_owner",
    "is_tables": "table_catalog table_schema table_name table_type is_insertable_into",
    "is_columns": "table_catalog table_schema table_name column_name ordinal_position# column_default is_nullable data_type character_maximum_length# numeric_precision# numeric_scale# datetime_precision# udt_schema udt_name is_identity is_generated",
    "is_table_constraints": "constraint_catalog constraint_schema constraint_name table_catalog table_schema table_name constraint_type",
    "is_key_column_usage": "constraint_catalog constraint_schema constraint_name table_catalog table_schema table_name column_name ordinal_position#",
    "is_constraint_column_usage": "table_catalog table_schema table_name column_name constraint_catalog constraint_schema constraint_name",
    "is_referential_constraints": "constraint_schema constraint_name unique_constraint_schema unique_constraint_name",
    "is_views": "table_catalog table_schema table_name view_definition",
    "is_routines": "routine_schema routine_name",
}  # fmt: skip
_KINDS = {"#": pa.int64(), "?": pa.bool_(), "*": pa.list_(pa.int64()), "@": pa.list_(pa.string())}
#: PostgreSQL's types that values have here: number, name, other name, bytes, category.
_TYPES = (
    (16, "bool", "boolean", 1, "B"), (17, "bytea", "bytea", -1, "U"), (20, "int8", "bigint", 8, "N"),
    (21, "int2", "smallint", 2, "N"), (23, "int4", "integer", 4, "N"), (25, "text", "text", -1, "S"),
    (114, "json", "json", -1, "U"), (700, "float4", "real", 4, "N"), (701, "float8", "double precision", 8, "N"),
    (1043, "varchar", "character varying", -1, "S"), (1082, "date", "date", 4, "D"),
    (1114, "timestamp", "timestamp without time zone", 8, "D"),
    (1184, "timestamptz", "timestamp with time zone", 8, "D"), (1700, "numeric", "numeric", -1, "N"),
    (19, "name", "name", 64, "S"), (26, "oid", "oid", 4, "N"),
)  # fmt: skip
_ARRAY_TYPES = [
    (ARRAYS[oid], f"_{name}", f"{long}[]", oid) for oid, name, long, *_ in _TYPES if oid in ARRAYS
]
_TYPE_NAMES = {oid: (name, long) for oid, name, long, _, _ in _TYPES} | {
    oid: (name, long) for oid, name, long, _ in _ARRAY_TYPES
}
#: An argument of a macro stands in its body as it was written, so that a name there would take a client's `i`
#: or `oid` for its own: what bodies look up is in views whose columns no client names.
_MACROS = """
CREATE VIEW told_types AS SELECT t.oid AS told_of, typname AS told_as, long AS told FROM pg_type t JOIN type_names USING (oid);
CREATE VIEW told_constraints AS SELECT c.oid AS told_of, 'PRIMARY KEY (' || string_agg(a.attname, ', ' ORDER BY a.attnum) || ')' AS told
  FROM pg_constraint c JOIN pg_attribute a ON a.attrelid = c.conrelid AND list_contains(c.conkey, a.attnum) GROUP BY c.oid;
CREATE VIEW told_indexes AS SELECT i.indexrelid AS told_of,
  'CREATE UNIQUE INDEX ' || k.relname || ' ON ' || t.relname || ' USING lookup (' || string_agg(a.attname, ', ' ORDER BY a.attnum) || ')' AS told
  FROM pg_index i JOIN pg_class k ON k.oid = i.indexrelid JOIN pg_class t ON t.oid = i.indrelid JOIN pg_attribute a
  ON a.attrelid = i.indrelid AND list_contains(i.indkey, a.attnum) GROUP BY i.indexrelid, k.relname, t.relname;
CREATE VIEW told_relations AS SELECT c.oid AS told, [n.nspname || '.' || c.relname, '"' || n.nspname || '"."' || c.relname || '"', c.relname] AS told_as
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace;
CREATE VIEW told_descriptions AS SELECT objoid AS told_of, objsubid AS told_at, description AS told FROM pg_description;
CREATE VIEW told_settings AS SELECT lower(name) AS told_as, setting AS told FROM pg_settings;
CREATE TYPE name AS VARCHAR; CREATE TYPE regclass AS BIGINT; CREATE TYPE regtype AS BIGINT; CREATE TYPE regproc AS VARCHAR;
CREATE TYPE regnamespace AS BIGINT; CREATE TYPE regrole AS BIGINT; CREATE TYPE xid AS BIGINT;
CREATE TYPE aclitem AS VARCHAR; CREATE TYPE regprocedure AS BIGINT; CREATE TYPE regoperator AS BIGINT;
CREATE MACRO format_type(kind, more) AS (SELECT told FROM told_types WHERE told_of = kind);
CREATE MACRO to_regtype(one) AS (SELECT told_of FROM told_types WHERE told_as = lower(one));
CREATE MACRO pg_get_userbyid(one) AS 'fff';
CREATE MACRO pg_get_expr(one, two, three := true) AS NULL;
CREATE MACRO pg_get_constraintdef(one, two := true) AS (SELECT told FROM told_constraints WHERE told_of = one);
CREATE MACRO pg_get_indexdef(one, two := 0, three := true) AS (SELECT told FROM told_indexes WHERE told_of = one);
CREATE MACRO pg_get_viewdef(one, two := true) AS NULL;
CREATE MACRO pg_get_function_identity_arguments(one) AS NULL;
CREATE MACRO pg_get_partkeydef(one) AS NULL;
CREATE MACRO pg_get_function_result(one) AS NULL;
CREATE MACRO pg_get_function_arguments(one) AS NULL;
CREATE MACRO pg_get_statisticsobjdef_columns(one) AS NULL;
CREATE MACRO pg_relation_is_publishable(one) AS false;
CREATE MACRO pg_encoding_to_char(one) AS 'UTF8';
CREATE MACRO pg_backend_pid() AS 1;
CREATE MACRO pg_is_in_recovery() AS false;
CREATE MACRO pg_total_relation_size(one) AS 0;
CREATE MACRO pg_relation_size(one) AS 0;
CREATE MACRO pg_table_size(one) AS 0;
CREATE MACRO pg_database_size(one) AS 0;
CREATE MACRO pg_tablespace_size(one) AS 0;
CREATE MACRO pg_size_pretty(one) AS one::BIGINT || ' bytes';
CREATE MACRO pg_tablespace_location(one) AS '';
CREATE MACRO pg_get_function_sqlbody(one) AS NULL;
CREATE MACRO pg_partition_tree(one) AS TABLE SELECT NULL::BIGINT AS relid, NULL::BIGINT AS parentrelid, true AS isleaf, 0 AS level WHERE false;
CREATE MACRO pg_options_to_table(one) AS TABLE SELECT NULL::VARCHAR AS option_name, NULL::VARCHAR AS option_value WHERE false;
CREATE MACRO pg_no_function(one) AS error('function "' || one || '" does not exist');
CREATE MACRO getdatabaseencoding() AS 'UTF8';
CREATE MACRO array_remove(one, two) AS list_filter(one, lambda item: item IS DISTINCT FROM two);
CREATE MACRO pg_stat_get_numscans(one) AS 0;
CREATE MACRO pg_char_to_encoding(one) AS 6;
CREATE MACRO pg_my_temp_schema() AS 0;
CREATE MACRO pg_named(one) AS CASE replace(one, 'pg_catalog.', '') WHEN 'pg_class' THEN 1259 WHEN 'pg_type' THEN 1247
  WHEN 'pg_proc' THEN 1255 WHEN 'pg_namespace' THEN 2615 WHEN 'pg_constraint' THEN 2606 WHEN 'pg_database' THEN 1262 ELSE (SELECT told FROM told_relations WHERE list_contains(told_as, one) LIMIT 1) END;
CREATE MACRO pg_get_serial_sequence(one, two) AS NULL;
CREATE MACRO to_regclass(one) AS pg_named(one);
CREATE MACRO obj_description(one, two := 'pg_class') AS (SELECT told FROM told_descriptions WHERE told_of = one AND told_at = 0);
CREATE MACRO col_description(one, two) AS (SELECT told FROM told_descriptions WHERE told_of = one AND told_at = two);
CREATE MACRO shobj_description(one, two) AS NULL;
CREATE MACRO has_schema_privilege(one, two, three := '') AS true;
CREATE MACRO has_table_privilege(one, two, three := '') AS (lower(two) = 'select' OR lower(three) = 'select');
CREATE MACRO has_database_privilege(one, two, three := '') AS true;
CREATE MACRO has_any_column_privilege(one, two, three := '') AS (lower(two) = 'select' OR lower(three) = 'select');
CREATE MACRO pg_has_role(one, two, three := '') AS true;
CREATE MACRO array_upper(one, two) AS len(one);
CREATE MACRO array_lower(one, two) AS 1;
CREATE MACRO parse_ident(one, two := true) AS list_transform(regexp_extract_all(one, '"(?:[^"]|"")+"|[^.]+'), lambda part: CASE WHEN part[1] = '"' THEN replace(part[2:-2], '""', '"') ELSE lower(part) END);
CREATE MACRO quote_ident(one) AS CASE WHEN regexp_full_match(one, '[a-z_][a-z0-9_$]*') AND one NOT IN (SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category = 'reserved') THEN one ELSE '"' || replace(one, '"', '""') || '"' END;
CREATE MACRO filled_in(one, two) AS CASE WHEN two IS NULL THEN one ELSE regexp_replace(one, '%[sI]', replace(CASE regexp_extract(one, '%[sI]') WHEN '%I' THEN quote_ident(two::VARCHAR) ELSE two::VARCHAR END, '\\', '\\\\')) END;
CREATE MACRO pg_format(one, two := NULL, three := NULL) AS filled_in(filled_in(one, two), three);
CREATE MACRO quote_literal(one) AS '''' || replace(one::VARCHAR, '''', '''''') || '''';
CREATE MACRO pg_advisory_unlock_all() AS NULL;
CREATE MACRO set_config(one, two, three) AS two;
CREATE MACRO setting_here(one, two := true) AS (SELECT told FROM told_settings WHERE told_as = lower(one));
CREATE MACRO is__pg_expandarray(one) AS unnest(list_transform(range(1, len(one) + 1), lambda i: {'x': one[i], 'n': i}));
CREATE MACRO pg_get_keywords() AS TABLE SELECT keyword_name AS word FROM duckdb_keywords();
CREATE MACRO pg_show_all_settings() AS TABLE SELECT * FROM pg_settings;
CREATE MACRO pg_catalog_version() AS 'PostgreSQL ' || (SELECT setting FROM pg_settings WHERE name = 'server_version');
"""
#: Whose names need no schema in front: here, all there are.
_VISIBLE = "table type function operator opclass opfamily collation conversion statistics_obj ts_config ts_dict ts_parser ts_template"
_RENAMED = {"format": "pg_format", "json_build_object": "json_object", "current_setting": "setting_here"}
_INSTEAD = {
    "version": "pg_catalog_version",
    "current_database": "database_here",
    "current_schema": "schema_here",
}
_WORDS = {
    "current_user": "'fff'", "session_user": "'fff'", "current_role": "'fff'", "current_catalog": f"'{DATABASE}'",
}  # fmt: skip


class ServerCatalog:
    """What a server tells of its tables in PostgreSQL's words.

    Raises UsageError where DuckDB is not installed.
    """

    def __init__(self, settings: Sequence[tuple[str, str]]) -> None:
        self._settings = settings
        self._tables: tuple[object, ...] | None = None
        self._database: Any = None

    def answer(self, sql: str, tables: Iterable[Table], own: OwnRows) -> ArrowTable:
        """The rows of a statement about PostgreSQL's own tables. Raises QueryError. For a thread: it takes a while.

        `own`: what some of them hold for who asks, and for nobody else.
        """
        shown = [one for one in tables if not one.function]
        state = tuple((one.full_name, one.columns, one.description, one.primary_key) for one in shown)
        if self._database is None or state != self._tables:
            self._database, self._tables = self._filled(shown), state
        cursor = self._database.cursor()
        late = threading.Timer(_SECONDS, cursor.interrupt)
        late.start()
        try:
            if not _only_reads(sql):
                raise QueryError("only a SELECT can be asked of the catalog", sql=sql)
            for name, rows in own.items():
                if rows:  # in front of the empty table, for this cursor
                    cursor.register(name, _table(_SHAPES[name], rows))
            return cursor.sql(_adapted(sql)).to_arrow_table()
        except failures() as error:
            first = str(error).partition("\n")[0]
            raise QueryError(
                f"the catalog does not answer this: {first}",
                hint="it has the tables and columns that PostgreSQL's clients ask for, and few of its functions",
            ) from error
        finally:
            late.cancel()
            cursor.close()

    def _filled(self, tables: Sequence[Table]) -> Any:
        database = catalog_database()
        rows = _rows(tables)
        rows["pg_settings"] = [{"name": name, "setting": value} for name, value in self._settings]
        shapes = _SHAPES | {"type_names": "oid# long"}
        rows["type_names"] = [{"oid": oid, "long": long} for oid, (_, long) in _TYPE_NAMES.items()]
        for name, shape in shapes.items():
            database.register("given", _table(shape, rows.get(name, [])))
            database.execute(f'CREATE TABLE "{name}" AS SELECT * FROM given')  # noqa: S608 - names of ours
            database.unregister("given")
        database.execute("SET GLOBAL integer_division = true")
        database.execute(_MACROS)
        for kind in _VISIBLE.split():
            database.execute(f"CREATE MACRO pg_{kind}_is_visible(one) AS true")
        database.execute(
            f"CREATE MACRO database_here() AS '{DATABASE}'; CREATE MACRO schema_here() AS 'public';"
            "CREATE MACRO current_schemas(one) AS ['pg_catalog', 'public'];"
        )
        database.execute("SET lock_configuration = true")
        return database


def _table(shape: str, rows: Sequence[Mapping[str, object]]) -> ArrowTable:
    columns = [*shape.split(), *["tableoid#"] * shape.startswith("oid#")]
    schema = pa.schema([(one.rstrip("#?*@"), _KINDS.get(one[-1], pa.string())) for one in columns])
    return pa.Table.from_pylist(rows, schema)


def type_name(oid: int) -> str:
    """What PostgreSQL calls a type."""
    return _TYPE_NAMES[oid][1] if oid in _TYPE_NAMES else "unknown"


def _rows(tables: Sequence[Table]) -> dict[str, list[dict[str, object]]]:
    """The rows of each table that has any."""
    schemas = {name: _FIRST + at for at, name in enumerate(dict.fromkeys(_schema(one) for one in tables))}
    spaces = schemas | {"public": _PUBLIC, "pg_catalog": _CATALOG, "information_schema": _INFORMATION}
    rows: dict[str, list[dict[str, object]]] = {
        "pg_namespace": [{"oid": oid, "nspname": name, "nspowner": OWNER} for name, oid in spaces.items()],
        "is_schemata": [{"catalog_name": DATABASE, "schema_name": name, "schema_owner": "fff"} for name in spaces],
        "pg_type": [
            {
                "oid": oid, "typname": name, "typnamespace": _CATALOG, "typowner": OWNER, "typlen": size, "typtype": "b",
                "typcategory": category, "typisdefined": True, "typdelim": ",", "typrelid": 0, "typelem": element,
                "typarray": ARRAYS.get(oid, 0), "typbasetype": 0, "typtypmod": -1, "typnotnull": False, "typcollation": 0, "typndims": 0,
            }
            for oid, name, size, category, element in (
                *((oid, name, size, category, 0) for oid, name, _, size, category in _TYPES),
                *((oid, name, -1, "A", element) for oid, name, _, element in _ARRAY_TYPES),
            )
        ],
        "pg_database": [
            {
                "oid": 1, "datname": DATABASE, "datdba": OWNER, "encoding": 6, "datlocprovider": "c", "datistemplate": False,
                "datallowconn": True, "datconnlimit": -1, "datcollate": "C", "datctype": "C", "dattablespace": _SPACE,
            }
        ],
        "pg_roles": [{"oid": OWNER, "rolname": "fff", "rolsuper": False, "rolinherit": True, "rolcreaterole": False, "rolcreatedb": False, "rolcanlogin": True, "rolreplication": False, "rolconnlimit": -1, "rolbypassrls": False}],
        "pg_user": [{"usesysid": OWNER, "usename": "fff", "usecreatedb": False, "usesuper": False}],
        "pg_tablespace": [{"oid": _SPACE, "spcname": "pg_default", "spcowner": OWNER}],
        "pg_am": [{"oid": 2, "amname": "web", "amtype": "t"}],
    }  # fmt: skip
    oid = _FIRST + len(schemas)
    for table in tables:
        rows_of_it = list(_rows_of(table, oid, schemas[_schema(table)]))
        oid += 3
        for name, row in rows_of_it:
            rows.setdefault(name, []).append(row)
    return rows


def _schema(table: Table) -> str:
    return table.source or "public"


def _rows_of(table: Table, oid: int, space: int) -> Iterator[tuple[str, dict[str, object]]]:
    schema, name = _schema(table), table.name
    place: dict[str, object] = {"table_catalog": DATABASE, "table_schema": schema, "table_name": name}
    keys = [one.lower() for one in table.primary_key]
    names = [one.name.lower() for one in table.columns]
    key_places = [names.index(one) + 1 for one in keys if one in names]
    relation = {
        "tableoid": 1259, "relnamespace": space, "relowner": OWNER, "relam": 2, "reltablespace": 0, "reltuples": -1, "relpages": 0,
        "relpersistence": "p", "relchecks": 0, "relhasrules": False, "relhastriggers": False, "relhassubclass": False,
        "relrowsecurity": False, "relforcerowsecurity": False, "relispartition": False, "relispopulated": True,
        "relreplident": "n", "reloftype": 0, "reltoastrelid": 0, "relisshared": False, "relhasoids": False,
    }  # fmt: skip
    yield (
        "pg_class",
        relation
        | {
            "oid": oid,
            "relname": name,
            "relkind": "r",
            "relnatts": len(names),
            "relhasindex": bool(key_places),
        },
    )
    yield (
        "pg_tables",
        {"schemaname": schema, "tablename": name, "tableowner": "fff", "hasindexes": bool(key_places)},
    )
    yield "is_tables", place | {"table_type": "BASE TABLE", "is_insertable_into": "NO"}
    if table.description:
        yield (
            "pg_description",
            {"objoid": oid, "classoid": 1259, "objsubid": 0, "description": table.description},
        )
    required = {key.name.lower(): key.require for key in table.key_columns}
    for at, column in enumerate(table.columns, 1):
        wire = wire_type(column.arrow)
        yield "pg_attribute", {
            "attrelid": oid, "attname": column.name, "atttypid": wire.oid, "attlen": wire.size, "attnum": at, "attndims": 0,
            "atttypmod": -1, "attnotnull": column.name.lower() in keys, "atthasdef": False, "attidentity": "", "attgenerated": "",
            "attisdropped": False, "attislocal": True, "attinhcount": 0, "attcollation": 0, "attstattarget": -1,
            "attstorage": "p", "attcompression": "", "atthasmissing": False,
        }  # fmt: skip
        short, long = _TYPE_NAMES[wire.oid]
        yield "is_columns", place | {
            "column_name": column.name, "ordinal_position": at, "data_type": long, "udt_schema": "pg_catalog", "udt_name": short,
            "is_nullable": "NO" if column.name.lower() in keys else "YES", "is_identity": "NO", "is_generated": "NEVER",
        }  # fmt: skip
        remarks = [f"in Spark's SQL {column.type}"] if wire.oid == 114 else []
        if required.get(column.name.lower()) == "required":
            remarks.append("has to be bound: by a constant or a join")
        if remarks:
            yield (
                "pg_description",
                {"objoid": oid, "classoid": 1259, "objsubid": at, "description": "; ".join(remarks)},
            )
    if not key_places:
        return
    key = f"{name}_key"
    yield (
        "pg_class",
        relation
        | {"oid": oid + 1, "relname": key, "relkind": "i", "relnatts": len(key_places), "relhasindex": False},
    )
    yield "pg_index", {
        "indexrelid": oid + 1, "indrelid": oid, "indnatts": len(key_places), "indnkeyatts": len(key_places), "indisunique": True,
        "indisprimary": True, "indisvalid": True, "indisready": True, "indislive": True, "indkey": key_places, "indisclustered": False,
        "indisreplident": False, "indisexclusion": False, "indimmediate": True, "indoption": [0] * len(key_places),
    }  # fmt: skip
    yield "pg_constraint", {
        "oid": oid + 2, "conname": key, "connamespace": space, "contype": "p", "conrelid": oid, "conindid": oid + 1, "contypid": 0,
        "confrelid": 0, "conparentid": 0, "conkey": key_places, "condeferrable": False, "condeferred": False, "convalidated": True,
    }  # fmt: skip
    whose: dict[str, object] = {
        "constraint_catalog": DATABASE,
        "constraint_schema": schema,
        "constraint_name": key,
    }
    yield "is_table_constraints", whose | place | {"constraint_type": "PRIMARY KEY"}
    for at, number in enumerate(key_places, 1):
        usage: dict[str, object] = whose | place | {"column_name": table.columns[number - 1].name}
        yield "is_key_column_usage", usage | {"ordinal_position": at}
        yield "is_constraint_column_usage", usage


def _only_reads(sql: str) -> bool:
    first = next(
        (one.text.lower() for one in tokens(sql) if one.kind not in ("space", "comment") and one.text != "("),
        "",
    )
    return first in ("select", "with", "values", "table")


def _adapted(sql: str) -> str:
    """A statement for DuckDB: without the names of schemas and collations, and with its own spellings."""
    pieces = _named_casts([one for one in tokens(sql) if one.kind not in ("space", "comment")])
    written: list[str] = []
    at = 0
    while at < len(pieces):
        size, text = _adapted_piece(pieces, at)
        last = pieces[at + size - 1]
        at += size
        gap = at < len(pieces) and pieces[at].start > last.start + len(last.text)
        written.append(f"{text} " if gap else text)
    return "".join(written)


def _named_casts(pieces: Sequence[Token]) -> list[Token]:
    """`CAST(… AS regclass)` as a call of what knows relations by their names."""
    kept = list(pieces)
    opened: list[int] = []
    for at, piece in enumerate(pieces):
        if piece.text == "(":
            opened.append(at)
        elif piece.text == ")" and opened:
            begin = opened.pop() - 1
            last = [one.text.lower() for one in pieces[at - 2 : at]]
            if begin >= 0 and pieces[begin].text.lower() == "cast" and last == ["as", "regclass"]:
                kept[begin] = replace(pieces[begin], text="pg_named")
                kept[at - 2 : at] = [replace(one, kind="space", text="") for one in pieces[at - 2 : at]]
    return kept


def _adapted_piece(pieces: Sequence[Token], at: int) -> tuple[int, str]:
    """How many pieces one spelling takes, and what stands for them."""
    token = pieces[at]
    word = token.text.strip('"').lower()
    following = [one.text.strip('"').lower() for one in pieces[at + 1 : at + 6]] + [""] * 5
    if word == "pg_catalog" and following[0] == ".":
        return 2, ""
    if word == "information_schema" and following[0] == ".":
        return 3, f"is_{following[1]}"
    if token.kind == "word" and word == "collate":
        return (4 if following[1] == "." else 2), ""
    if token.kind == "word" and word == "operator" and following[0] == "(":
        end = next(place for place in range(at + 1, len(pieces)) if pieces[place].text == ")")
        return end - at + 1, " " + "".join(
            one.text for one in pieces[at + 2 : end] if one.text.lower() not in ("pg_catalog", ".")
        )
    if token.kind == "text" and not token.text[1:-1].isdecimal() and following[0] in ("::", "as"):
        kind = following[3] if following[1:3] == ["pg_catalog", "."] else following[1]
        if kind == "regclass":
            return 1, f"pg_named({token.text})"
        if kind in ("regproc", "regprocedure"):
            return 1, f"pg_no_function({token.text})"
    if token.text.startswith("'{") and following[0] == "::" and following[2] == "[":
        return 1, "'[" + token.text[2:-2] + "]'"
    before = [one.text.lower() for one in pieces[max(at - 2, 0) : at]]
    if before[-1:] == ["as"] or (before[-1:] == ["."] and before != ["pg_catalog", "."]):
        return 1, token.text  # a name, not a call
    if token.kind == "word" and word in _RENAMED:
        return 1, _RENAMED[word]
    if token.kind == "word" and word in _WORDS:
        return (3 if following[:2] == ["(", ")"] else 1), _WORDS[word]
    if token.kind == "word" and word in _INSTEAD:
        return (3 if following[:2] == ["(", ")"] else 1), f"{_INSTEAD[word]}()"
    return 1, token.text
