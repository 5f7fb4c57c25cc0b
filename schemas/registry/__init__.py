"""The registry: organizations, websites, links, keys and their plans, in a relational database.

`Store` reads and writes it (SQLite by default, PostgreSQL by URL). The HTTP services read a
`Snapshot` of it in memory, which a `Follower` keeps within a second of the database.
"""

from sqlalchemy.exc import SQLAlchemyError as DatabaseError

from schemas.registry.api_keys import SCOPES, NewKey, Scope, hash_secret, make_key, split_key
from schemas.registry.backups import Backups
from schemas.registry.database_file import RegistryLost
from schemas.registry.follower import Follower, first_line, no_registry
from schemas.registry.records import Import, ImportState, Key, Link, Organization, Website
from schemas.registry.snapshot import Snapshot
from schemas.registry.store import Full, Store, Unknown
from schemas.registry.transaction import Taken

__all__ = [
    "SCOPES",
    "Backups",
    "DatabaseError",
    "Follower",
    "Full",
    "Import",
    "ImportState",
    "Key",
    "Link",
    "NewKey",
    "Organization",
    "RegistryLost",
    "Scope",
    "Snapshot",
    "Store",
    "Taken",
    "Unknown",
    "Website",
    "first_line",
    "hash_secret",
    "make_key",
    "no_registry",
    "split_key",
]
