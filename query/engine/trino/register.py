"""Registers the tables of the lake in a schema of Trino, so that it can read them."""

from collections.abc import Iterable

from query.engine.trino.address import TrinoAddress
from query.engine.trino.client import TrinoClient, TrinoError
from query.engine.trino.literals import literal
from schemas.tables import Table

SECONDS = 60.0
KNOWN = ("TABLE_ALREADY_EXISTS", "ALREADY_EXISTS")
"""Names of the error for a table that was registered before."""


async def register_tables(
    address: TrinoAddress, tables: Iterable[Table], lake: str
) -> tuple[list[str], list[str]]:
    """The names of tables that were registered now, and of those that were before.

    `lake` is the root of the tables as Trino reaches it. TrinoError for what it refuses.
    """
    client = TrinoClient(address)
    schema = f"{_name(address.catalog)}.{_name(address.schema)}"
    await _run(client, f"CREATE SCHEMA IF NOT EXISTS {schema}")
    new: list[str] = []
    known: list[str] = []
    for table in tables:
        found = await _register(client, address, table, f"{lake.rstrip('/')}/{table.name}")
        (new if found else known).append(table.name)
    return new, known


async def _register(client: TrinoClient, address: TrinoAddress, table: Table, url: str) -> bool:
    """Register one table; False when it was registered before."""
    arguments = ", ".join(map(literal, (address.schema, table.name, url)))
    try:
        await _run(client, f"CALL {_name(address.catalog)}.system.register_table({arguments})")
    except TrinoError as error:
        if error.name in KNOWN:
            return False
        raise
    return True


async def _run(client: TrinoClient, text: str) -> None:
    async for _ in client.pages(text, SECONDS):
        pass


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
