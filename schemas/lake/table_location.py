"""Table locations: the URL of a table, and its local folder where it has one."""

from pathlib import Path

from schemas.lake.object_store import is_object_store
from schemas.tables import Table


def table_url(lake: str, table: Table) -> str:
    """URL of a table."""
    return f"{lake.rstrip('/')}/{table.name}"


def local_folder(url: str) -> Path | None:
    """The local folder of a URL; None when it is not local."""
    if is_object_store(url):
        return None
    return Path(url.removeprefix("file://"))
