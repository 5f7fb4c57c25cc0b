"""AsOf: the table versions that a request names."""

from typing import Annotated

from msgspec import Meta

from schemas.errors import Malformed
from schemas.kinds import TABLES
from schemas.lake.committed_offsets import NO_VERSION
from schemas.tables import Table

VersionNumber = Annotated[int, Meta(ge=NO_VERSION, le=2**53)]
AsOf = dict[str, VersionNumber] | VersionNumber | None
"""Table versions to read, as in `meta.versions` of a response; one number goes for every table."""


def requested_version(as_of: AsOf, table: Table) -> int | None:
    """The version of a table that the request names; Malformed for a table that does not exist."""
    if not isinstance(as_of, dict):
        if as_of is not None and as_of < 0:
            raise Malformed(
                f"'asOf' is {as_of}; give a version from 0, or an object with the version of each "
                "table, as in 'meta.versions' of a response"
            )
        return as_of
    if not as_of:
        raise Malformed(
            "'asOf' is empty; name a table in it, such as {'events': 7}, or leave it out"
        )
    known = [known.name for known in TABLES]
    if unknown := as_of.keys() - set(known):
        raise Malformed(
            f"'asOf' names the unknown table '{min(unknown)[:60]}'; tables are {', '.join(known)}"
        )
    return as_of.get(table.name)
