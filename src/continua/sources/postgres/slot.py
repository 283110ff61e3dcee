"""A logical replication slot: what keeps the transactions that were not read, and how they are looked at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from continua.errors import SourceError
from continua.sources.postgres.database import first_line, identifier
from continua.sources.postgres.declared import DeclaredTable

IN_USE = "55006"
"""What the database says of a slot that somebody else uses now."""
_NOT_NOW, _UNKNOWN, _FORBIDDEN, _NO_MORE = "55000", "42704", "42501", "53400"


@dataclass(frozen=True, slots=True)
class SlotState:
    """A slot as the database tells of it."""

    confirmed: int
    """Transactions that were committed before are gone."""
    retained: int
    """How many bytes of the log are kept for it."""
    plugin: str
    active_pid: int | None
    lost: bool


def lsn(text: str) -> int:
    """A place in the log as a number: 16/B374D848."""
    high, low = text.split("/")
    return int(high, 16) << 32 | int(low, 16)


def shown_lsn(place: int) -> str:
    """A place in the log as PostgreSQL writes it."""
    return f"{place >> 32:X}/{place & 0xFFFFFFFF:X}"


def check_server(connection: Any, table: DeclaredTable) -> None:
    """Refuses a server that has no logical replication."""
    query = "SELECT current_setting('wal_level'), pg_is_in_recovery()"
    level, is_standby = connection.execute(query.encode()).fetchone()
    if is_standby:
        message = f"{table.source} follows a table, and the server of its url is a standby"
        raise table.error("STANDBY", message, "name the primary server")
    if level != "logical":
        message = f"{table.source} follows a table, which needs wal_level = logical, and the server has {level}"
        mend = "ALTER SYSTEM SET wal_level = logical"
        raise table.error("WAL_LEVEL", message, f"{mend}, and start the server again", statement=mend)
    query = "SELECT rolreplication OR rolsuper FROM pg_roles WHERE rolname = current_user"
    if not connection.execute(query.encode()).fetchone()[0]:
        user = connection.info.user
        mend = f"ALTER ROLE {identifier(user)} REPLICATION"
        message = f"{table.source} follows a table, which {user} may not: the role has no REPLICATION"
        raise table.error("NO_REPLICATION_ROLE", message, mend, statement=mend)


def state_of(connection: Any, name: str) -> SlotState | None:
    """What is known of a slot; None where there is none."""
    kept = "pg_current_wal_lsn() - s.restart_lsn"
    query = f"SELECT to_jsonb(s), {kept} FROM pg_replication_slots s WHERE slot_name = '{name}'"
    row = connection.execute(query.encode()).fetchone()
    if row is None:
        return None
    known, retained = row
    is_lost = known.get("wal_status") == "lost" or known.get("restart_lsn") is None
    confirmed = known.get("confirmed_flush_lsn")
    pid = known.get("active_pid")
    return SlotState(lsn(confirmed) if confirmed else 0, int(retained or 0), known["plugin"] or "", pid, is_lost)


def made(connection: Any, table: DeclaredTable, temporary: bool) -> tuple[int, str]:
    """Makes a slot: from where on it keeps transactions, and the name of the snapshot of what was before.

    The snapshot is there as long as the connection does nothing else.
    """
    kind = "TEMPORARY LOGICAL" if temporary else "LOGICAL"
    row = connection.execute(
        f"CREATE_REPLICATION_SLOT {identifier(table.slot)} {kind} pgoutput EXPORT_SNAPSHOT".encode()
    )
    _, place, snapshot, _ = row.fetchone()
    return lsn(place), snapshot


def dropped(connection: Any, name: str) -> None:
    """Drops a slot."""
    connection.execute(f"SELECT pg_drop_replication_slot('{name}')".encode())


def looked_at(connection: Any, table: DeclaredTable, to: int, most: int) -> Iterator[bytes]:
    """The messages of transactions that were committed before a place, about so many; the slot stays where it is."""
    publication = table.publication.replace("'", "''")
    query = (
        f"SELECT data FROM pg_logical_slot_peek_binary_changes('{table.slot}', '{shown_lsn(to)}', {most}, "
        f"'proto_version', '1', 'publication_names', '{identifier(publication)}')"
    )
    for (data,) in connection.execute(query.encode()):
        yield data


def advanced(connection: Any, name: str, to: int) -> None:
    """Lets go of transactions that end by a place."""
    connection.execute(f"SELECT pg_replication_slot_advance('{name}', '{shown_lsn(to)}')".encode())


def refused(table: DeclaredTable, error: Any) -> SourceError | None:
    """What the database says of a slot, as an error that tells what to do; None for others."""
    said, slot = first_line(error), table.slot
    match error.sqlstate:
        case state if state == IN_USE:
            message = f"the slot {slot} of {table.source} is used by another: {said}"
            return table.error("SLOT_IN_USE", message, "stop that one, or name another slot", slot=slot)
        case state if state == _NO_MORE:
            message = f"the server has no room for the slot {slot} of {table.source}: {said}"
            hint = "drop slots that nobody uses (pg_replication_slots), or raise max_replication_slots"
            return table.error("NO_MORE_SLOTS", message, hint, slot=slot)
        case state if state in (_NOT_NOW, _UNKNOWN) and "publication" not in said:
            return lost(table, said)
        case state if state == _UNKNOWN:
            message = f"the publication {table.publication} of {table.source} is gone: {said}"
            return table.error("PUBLICATION_NOT_FOUND", message, "make it again, and start anew")
        case state if state == _FORBIDDEN:
            message = f"{table.source} may not be followed: {said}"
            hint = "ALTER ROLE name REPLICATION, and GRANT SELECT ON the table"
            return table.error("NO_REPLICATION_ROLE", message, hint)
        case _:
            return None


def lost(table: DeclaredTable, why: str) -> SourceError:
    """What is told when transactions that were not read are gone."""
    message = f"the slot {table.slot} of {table.source} has lost what was not read: {why}"
    hint = (
        f"start with a new --checkpoint, after SELECT pg_drop_replication_slot('{table.slot}'); "
        "max_slot_wal_keep_size says how much is kept"
    )
    return table.error("SLOT_LOST", message, hint, slot=table.slot)
