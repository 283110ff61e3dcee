"""What clients ask PostgreSQL's own catalog for, as tables of DuckDB: as much as psql and drivers look at."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import duckdb

from continua.server.postgres.messages import Field
from continua.server.postgres.values import NAMES, SIZES

_FIRST = 16384
"""The numbers of what users have made begin here."""
_TYPES = {"boolean": "bool", "bigint": "int8", "smallint": "int2", "integer": "int4", "double precision": "float8"}
_TYPES |= {"real": "float4", "timestamp without time zone": "timestamp", "timestamp with time zone": "timestamptz"}
_EMPTY = {
    "pg_attrdef": "adrelid BIGINT, adnum INT, adbin TEXT",
    "pg_collation": "oid BIGINT, collname TEXT, collnamespace BIGINT",
    "pg_index": "indrelid BIGINT, indexrelid BIGINT, indisprimary BOOL, indisunique BOOL, indkey INT[]",
    "pg_constraint": "oid BIGINT, conname TEXT, conrelid BIGINT, confrelid BIGINT, contype TEXT, conkey INT[]",
    "pg_description": "objoid BIGINT, classoid BIGINT, objsubid INT, description TEXT",
    "pg_enum": "oid BIGINT, enumtypid BIGINT, enumsortorder FLOAT, enumlabel TEXT",
    "pg_range": "rngtypid BIGINT, rngsubtype BIGINT",
    "pg_rewrite": "oid BIGINT, ev_class BIGINT, rulename TEXT",
    "pg_trigger": "oid BIGINT, tgrelid BIGINT, tgname TEXT",
    "pg_proc": "oid BIGINT, proname TEXT, pronamespace BIGINT",
    "pg_extension": "oid BIGINT, extname TEXT, extversion TEXT",
}
_MACROS = (
    "pg_get_userbyid(x) AS 'continua'",
    "pg_table_is_visible(x) AS TRUE",
    "pg_type_is_visible(x) AS TRUE",
    "pg_get_expr(a, b, c := FALSE) AS NULL::TEXT",
    "obj_description(a, b := '') AS NULL::TEXT",
    "col_description(a, b) AS NULL::TEXT",
    "pg_get_viewdef(a, b := FALSE) AS ''",
    "pg_relation_is_publishable(a) AS FALSE",
    "format_type(a, b) AS coalesce((SELECT min(shown) FROM pg_type WHERE oid = a), '???')",
    "version() AS 'PostgreSQL 16.0 (Continua)'",
    "current_schema() AS 'public'",
    "current_database() AS 'continua'",
    "pg_backend_pid() AS 1",
    "pg_encoding_to_char(x) AS 'UTF8'",
    "current_schemas(x) AS ['public']",
)
_SPELLED_OTHERWISE = (
    (re.compile(r"OPERATOR\s*\(\s*pg_catalog\.([~!=<>]+)\s*\)", re.IGNORECASE), r"\1"),
    (re.compile(r"\s+COLLATE\s+pg_catalog\.\"?default\"?", re.IGNORECASE), ""),
    (re.compile(r"::\s*(pg_catalog\.)?reg(type|class|proc|namespace|role)\b", re.IGNORECASE), "::TEXT"),
    (re.compile(r"\bpg_catalog\.", re.IGNORECASE), ""),
    (re.compile(r"::\s*\"?char\"?(?=\W)", re.IGNORECASE), "::TEXT"),
)
_NEVER = re.compile(r"\bpg_(policy|publication\w*|statistic_ext|inherits|foreign_\w+|subscription\w*)\b", re.IGNORECASE)
_ABOUT_CATALOG = re.compile(
    r"\bpg_\w+|\binformation_schema\b"
    r"|\bversion\s*\(|\bcurrent_(schema|database)s?\b",
    re.IGNORECASE,
)


def asks_for_nothing(sql: str) -> bool:
    """Whether a statement asks for what there never is here, such as policies of tables."""
    return _NEVER.search(sql) is not None


def is_about_catalog(sql: str) -> bool:
    """Whether a statement asks the catalog, and not what is in it."""
    return _ABOUT_CATALOG.search(sql) is not None


def as_duckdb(sql: str) -> str:
    """A question to the catalog in DuckDB's words."""
    for pattern, other in _SPELLED_OTHERWISE:
        sql = pattern.sub(other, sql)
    return sql


def fill(connection: duckdb.DuckDBPyConnection, tables: Mapping[str, Iterable[Field]]) -> None:
    """Makes the catalog of some tables, which are all in the schema public."""
    run = connection.execute
    run("CREATE SCHEMA public")
    run("CREATE TABLE pg_namespace AS SELECT 2200 AS oid, 'public' AS nspname, 10 AS nspowner, NULL::TEXT AS nspacl")
    run("CREATE TABLE pg_am AS SELECT 2 AS oid, 'heap' AS amname")
    run(
        "CREATE TABLE pg_database AS SELECT 1 AS oid, 'continua' AS datname, 10 AS datdba, 6 AS encoding,"
        " 'C' AS datcollate, 'C' AS datctype, TRUE AS datallowconn, FALSE AS datistemplate, NULL::TEXT AS datacl"
    )
    run("CREATE TABLE pg_roles AS SELECT 10 AS oid, 'continua' AS rolname, TRUE AS rolcanlogin, TRUE AS rolsuper")
    run(
        "CREATE TABLE pg_type (oid BIGINT, typname TEXT, typnamespace BIGINT, typlen INT, typtype TEXT,"
        " typrelid BIGINT,"
        " typelem BIGINT, typarray BIGINT, typcollation BIGINT, typbasetype BIGINT, typtypmod INT, typnotnull BOOL,"
        " typdelim TEXT, typcategory TEXT, shown TEXT)"
    )
    for number, name in NAMES.items():
        run(
            "INSERT INTO pg_type VALUES (?, ?, 11, ?, 'b', 0, 0, 0, 0, 0, -1, FALSE, ',', 'U', ?)",
            [number, _TYPES.get(name, name), SIZES.get(number, -1), name],
        )
    run(
        "CREATE TABLE pg_class (oid BIGINT, relname TEXT, relnamespace BIGINT, relkind TEXT, relowner BIGINT,"
        " relam BIGINT,"
        " relchecks INT, relhasindex BOOL, relhasrules BOOL, relhastriggers BOOL, relrowsecurity BOOL,"
        " relforcerowsecurity BOOL, relispartition BOOL, reltablespace BIGINT, reloftype BIGINT, relpersistence TEXT,"
        " relreplident TEXT, reltoastrelid BIGINT, relpartbound TEXT, reltuples FLOAT, relpages INT, relacl TEXT,"
        " reloptions TEXT, relnatts INT)"
    )
    run(
        "CREATE TABLE pg_attribute (attrelid BIGINT, attname TEXT, atttypid BIGINT, atttypmod INT, attnum INT,"
        " attnotnull BOOL, atthasdef BOOL, attisdropped BOOL, attcollation BIGINT, attidentity TEXT, attgenerated TEXT,"
        " attlen INT, attndims INT, attstattarget INT, attacl TEXT)"
    )
    for name, columns in _EMPTY.items():
        run(f"CREATE TABLE {name} ({columns})")
    for macro in _MACROS:
        run(f"CREATE MACRO {macro}")
    for number, (name, fields) in enumerate(tables.items(), _FIRST):
        columns_told = list(fields)
        run(
            "INSERT INTO pg_class VALUES (?, ?, 2200, 'm', 10, 2, 0, FALSE, FALSE, FALSE, FALSE, FALSE, FALSE, 0, 0,"
            " 'p',"
            " 'd', 0, NULL, 0, 0, NULL, NULL, ?)",
            [number, name, len(columns_told)],
        )
        for place, field in enumerate(columns_told, 1):
            run(
                "INSERT INTO pg_attribute VALUES (?, ?, ?, -1, ?, FALSE, FALSE, FALSE, 0, '', '', ?, 0, -1, NULL)",
                [number, field.name, field.type, place, SIZES.get(field.type, -1)],
            )
        shown = ", ".join(f'"{_name(f.name)}" {_duck(f.type)}' for f in columns_told)
        run(f'CREATE TABLE public."{_name(name)}" ({shown})')


def _name(name: str) -> str:
    return name.replace('"', '""')


def _duck(number: int) -> str:
    """A type of DuckDB with the same name in information_schema, as far as there is one."""
    return NAMES[number].upper().replace("WITHOUT TIME ZONE", "").replace("BYTEA", "BLOB")
