"""What a table of PostgreSQL is like, and whether it can be read, or followed, as its definition says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from continua.algebra.schema import Field
from continua.errors import did_you_mean, listing
from continua.sources.postgres.database import identifier, quoted
from continua.sources.postgres.declared import DeclaredTable
from continua.sources.postgres.texts import fits, fitting

_FULL = "f"
_PUBLISHED = ("pubinsert", "pubupdate", "pubdelete", "pubtruncate")


@dataclass(frozen=True)
class Shape:
    """A table: its names there, and the types of its columns in their order."""

    oid: int
    schema: str
    table: str
    types: Mapping[str, str]
    identity: str = ""
    """What is known of old rows: ``f`` all of them, ``d`` the primary key, ``i`` those of an index, ``n`` nothing."""
    identity_columns: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Its name as SQL has it."""
        return f"{identifier(self.schema)}.{identifier(self.table)}"


def column_of(table: DeclaredTable, name: str, types: Mapping[str, str]) -> str:
    """The column that is read for one that is declared. Raises SourceError where there is none."""
    same = [known for known in types if known.casefold() == name.casefold()]
    if name in types or len(same) == 1:
        return name if name in types else same[0]
    hint = did_you_mean(name, types) or f"it has {listing(list(types))}"
    raise table.error("MISSING_COLUMN", f"{table.shown} has no column {name}", hint, column=name)


def check_types(table: DeclaredTable, types: Mapping[str, str]) -> tuple[str, ...]:
    """The columns that are read, in the order in which they are declared; refuses those of types that do not fit."""
    found: list[str] = []
    for field in table.columns:
        name = column_of(table, field.name, types)
        if not fits(field.type, types[name]):
            raise _type_mismatch(table, field, name, types[name])
        found.append(name)
    return tuple(found)


def _type_mismatch(table: DeclaredTable, field: Field, name: str, given: str) -> Exception:
    message = f"column {name} of {table.shown} is {given}, and {field.name} is declared {field.type}"
    wanted = fitting(field.type)
    hint = f"a {field.type} may be {listing(list(wanted))}" if wanted else f"no column is read as {field.type}"
    return table.error("TYPE_MISMATCH", message, hint, column=name, given=given, declared=str(field.type))


def types_of_query(connection: Any, table: DeclaredTable) -> dict[str, str]:
    """The types of the columns that a table or a query has."""
    found = connection.execute(f"SELECT * FROM {table.from_} LIMIT 0".encode())
    names = [column.name for column in found.description]
    places = range(len(names))
    kinds = [(found.pgresult.ftype(n), found.pgresult.fmod(n)) for n in places]
    return dict(zip(names, types_named(connection, kinds), strict=True))


def types_named(connection: Any, kinds: Sequence[tuple[int, int]]) -> list[str]:
    """The names of types by their numbers and modifiers."""
    if not kinds:
        return []
    asked = ", ".join(f"format_type({of}, {modifier})" for of, modifier in kinds)
    return list(connection.execute(f"SELECT {asked}".encode()).fetchone())


def shape_of(connection: Any, table: DeclaredTable) -> Shape:
    """A table as it is now. Raises SourceError where there is none."""
    query = """
        SELECT c.oid::bigint, n.nspname, c.relname, c.relkind::text, c.relreplident::text, c.reltoastrelid <> 0
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass(%s)
    """
    row = connection.execute(query, [quoted(table.table)]).fetchone()
    if row is None:
        raise table.error("TABLE_NOT_FOUND", f"there is no table {table.table}", "name it as SQL does: 'schema.table'")
    oid, schema, name, kind, identity, has_apart = row
    if kind not in "rp":
        hint = "follow the tables that it is made of, or read it again and again: CREATE TABLE ... REFRESH EVERY"
        raise table.error("NOT_A_TABLE", f"{table.table} is no table, and only tables can be followed", hint)
    columns = connection.execute(
        "SELECT attname, format_type(atttypid, atttypmod), attgenerated::text, attstorage::text FROM pg_attribute "
        "WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
        [oid],
    ).fetchall()
    types = {column: of for column, of, _, _ in columns}
    names = check_types(table, types)
    for column, _, generated, _ in columns:
        if generated and column in names:
            message = f"column {column} of {table.shown} is generated, and replication leaves such columns out"
            raise table.error("GENERATED_COLUMN", message, "leave it out, and reckon it in the query", column=column)
    found = Shape(oid, schema, name, types, identity, _identity_columns(connection, oid, identity))
    apart = {column for column, _, _, storage in columns if has_apart and storage in "xe"} & set(names)
    _check_identity(table, found, apart)
    _check_key(connection, table, found)
    return found


def _identity_columns(connection: Any, oid: int, identity: str) -> tuple[str, ...]:
    which = {"d": "indisprimary", "i": "indisreplident"}.get(identity)
    if which is None:
        return ()
    query = f"""
        SELECT a.attname FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey)
        WHERE i.indrelid = %s AND i.{which} AND i.indisvalid
    """
    return tuple(name for (name,) in connection.execute(query, [oid]).fetchall())


def _check_identity(table: DeclaredTable, found: Shape, apart: set[str]) -> None:
    """Refuses a table of whose old rows less is known than is needed."""
    if found.identity == _FULL:
        return
    key = {column_of(table, name, found.types) for name in table.key}
    mend = f"ALTER TABLE {found.name} REPLICA IDENTITY FULL"
    if not key:
        message = f"{table.shown} does not tell which row has gone: {table.source} has no KEY, so all of it is needed"
        hint = f"{mend}; or give {table.source} the KEY of the table"
    elif not set(found.identity_columns) or not key <= set(found.identity_columns):
        known = f"only {listing(list(found.identity_columns))}" if found.identity_columns else "nothing"
        message = (
            f"{table.shown} tells {known} of rows that go, and the KEY of {table.source} is {listing(sorted(key))}"
        )
        hint = mend
    elif apart:
        names = listing(sorted(apart))
        message = f"{table.shown} does not tell long values of {names} when an update leaves them as they are"
        hint = f"{mend}; or leave {names} out"
    else:
        return
    raise table.error("REPLICA_IDENTITY", message, hint, statement=mend)


def _check_key(connection: Any, table: DeclaredTable, found: Shape) -> None:
    """Refuses a key of which the table may have several rows."""
    if not table.key:
        return
    query = """
        SELECT array_agg(a.attname::text) FROM pg_index i
        JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey)
        WHERE i.indrelid = %s AND i.indisunique AND i.indisvalid AND i.indimmediate AND i.indpred IS NULL
          AND i.indexprs IS NULL GROUP BY i.indexrelid HAVING bool_and(a.attnotnull)
    """
    key = {column_of(table, name, found.types) for name in table.key}
    if not any(set(columns) <= key for (columns,) in connection.execute(query, [found.oid]).fetchall()):
        message = (
            f"{table.shown} may have several rows with the same {listing(sorted(key))}: no unique index excludes it"
        )
        hint = f"leave KEY out of {table.source}; or CREATE UNIQUE INDEX, of columns that are NOT NULL"
        raise table.error("NOT_A_KEY", message, hint, key=sorted(key))


def check_publication(connection: Any, table: DeclaredTable, found: Shape) -> None:
    """Refuses a publication that leaves out what is to be followed; makes one where that is wanted."""
    mine, name = identifier(table.publication), table.publication
    row = connection.execute("SELECT to_jsonb(p) FROM pg_publication p WHERE pubname = %s", [name]).fetchone()
    make = f"CREATE PUBLICATION {mine} FOR TABLE {found.name}"
    if row is None and table.create:
        connection.execute(make.encode())
        return
    if row is None:
        hint = f"{make}; or create => true makes it"
        raise table.error("PUBLICATION_NOT_FOUND", f"there is no publication {name}", hint, statement=make)
    left_out = [kind.removeprefix("pub") for kind in _PUBLISHED if not row[0].get(kind, True)]
    if left_out:
        message = f"the publication {name} leaves out what is done by {listing(left_out)}"
        mend = f"ALTER PUBLICATION {mine} SET (publish = 'insert, update, delete, truncate')"
        raise table.error("PUBLICATION_PARTIAL", message, mend, statement=mend)
    kind = connection.execute("SELECT relkind::text FROM pg_class WHERE oid = %s", [found.oid]).fetchone()[0]
    if kind == "p" and not row[0].get("pubviaroot", False):
        message = f"{table.shown} has partitions, and the publication {name} tells changes as theirs"
        mend = f"ALTER PUBLICATION {mine} SET (publish_via_partition_root = true)"
        raise table.error("PUBLICATION_PARTIAL", message, mend, statement=mend)
    query = "SELECT to_jsonb(t) FROM pg_publication_tables t WHERE pubname = %s AND schemaname = %s AND tablename = %s"
    row = connection.execute(query, [name, found.schema, found.table]).fetchone()
    if row is None:
        mend = f"ALTER PUBLICATION {mine} ADD TABLE {found.name}"
        message = f"the publication {name} does not have {table.table}"
        raise table.error("PUBLICATION_PARTIAL", message, mend, statement=mend)
    published = row[0].get("attnames")
    missing = [f.name for f in table.columns if published and column_of(table, f.name, found.types) not in published]
    if missing or row[0].get("rowfilter"):
        what = f"the columns {listing(missing)}" if missing else "some rows"
        message = f"the publication {name} leaves {what} of {table.table} out"
        hint = f"publish all of it: ALTER PUBLICATION {mine} SET TABLE {found.name}"
        raise table.error("PUBLICATION_PARTIAL", message, hint)
