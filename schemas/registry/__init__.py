"""The registry: organizations, websites and what belongs to them, in SQLite or PostgreSQL.

`RegistryStore` reads and writes it (SQLite by default, PostgreSQL by URL). The HTTP services read a
`Snapshot` of it in memory, which a `RegistryFollower` keeps within a second of the database.
"""

from sqlalchemy.exc import SQLAlchemyError as DatabaseError

from schemas.registry.api_keys import (
    KEY_SCOPES,
    KeyScope,
    NewKey,
    generate_key,
    hash_secret,
    parse_key,
)
from schemas.registry.backups import Backups
from schemas.registry.daily_salts import RegistrySalts
from schemas.registry.database_file import RegistryLost
from schemas.registry.follower import (
    RegistryFollower,
    add_registry_gauge,
    first_line,
    registry_unavailable,
)
from schemas.registry.keeper_lease import KeeperLease
from schemas.registry.record_limits import RecordLimitReached
from schemas.registry.records import (
    Account,
    Erasure,
    ErasureState,
    Import,
    ImportState,
    Key,
    Link,
    Member,
    Organization,
    Replay,
    ReplayState,
    Selector,
    Website,
)
from schemas.registry.saved_record_index import SavedRecords
from schemas.registry.saved_records import (
    SAVED_RECORDS,
    Alert,
    Alias,
    Annotation,
    Board,
    Channel,
    ErrorStatus,
    Exploration,
    Funnel,
    Goal,
    MoneyProperty,
    PathGroup,
    Report,
    SavedRecord,
    Segment,
    Share,
    Shield,
)
from schemas.registry.sign_ins import RegistrySignIns, SignInState
from schemas.registry.snapshot import Snapshot
from schemas.registry.store import RecordNotFound, RegistryStore
from schemas.registry.transaction import RecordConflict

__all__ = [
    "KEY_SCOPES",
    "SAVED_RECORDS",
    "Account",
    "Alert",
    "Alias",
    "Annotation",
    "Backups",
    "Board",
    "Channel",
    "DatabaseError",
    "Erasure",
    "ErasureState",
    "ErrorStatus",
    "Exploration",
    "Funnel",
    "Goal",
    "Import",
    "ImportState",
    "KeeperLease",
    "Key",
    "KeyScope",
    "Link",
    "Member",
    "MoneyProperty",
    "NewKey",
    "Organization",
    "PathGroup",
    "RecordConflict",
    "RecordLimitReached",
    "RecordNotFound",
    "RegistryFollower",
    "RegistryLost",
    "RegistrySalts",
    "RegistrySignIns",
    "RegistryStore",
    "Replay",
    "ReplayState",
    "Report",
    "SavedRecord",
    "SavedRecords",
    "Segment",
    "Selector",
    "Share",
    "Shield",
    "SignInState",
    "Snapshot",
    "Website",
    "add_registry_gauge",
    "first_line",
    "generate_key",
    "hash_secret",
    "parse_key",
    "registry_unavailable",
]
