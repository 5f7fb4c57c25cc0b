"""Fatal errors: the worker exits with a code and resumes from the table's offsets.

FatalError 75
├── Fenced 75              another worker has stored these offsets
├── OffsetGap 75           messages are missing before a batch
├── Unreachable 75         Kafka does not answer while the worker starts
├── RetriesExhausted 75    writing to the lake failed on every attempt
├── LedgerMismatch 75      the ledger's counts do not match the rows
├── LogDamaged 75          the log of a table was damaged while the worker wrote to it
├── TopicReplaced 75       a topic was recreated while it was read
├── TableRepaired 75       a skipped table can be opened again
├── OffsetOutOfRange 78    the topic ends before the table's next offset: an operator decides
├── ForeignGroup 78        the consumer group has workers of another lake
├── WrongCluster 78        the topic is of another Kafka cluster: an operator decides
├── IncompatibleLibrary 78 Faust or aiokafka lacks a private attribute that the worker uses
├── GeoDatabaseMissing 78  a geo database that a setting names cannot be read
├── LakeUnreachable 75     the object store of the tables does not answer
├── UnsafeStore 78         the object store does not enforce conditional puts
├── RegistryMissing 78     neither the registry nor a backup of it can be read
├── Unexpected 70          any other error; its traceback is in the log
└── Stuck 70               messages wait and nothing is stored
"""

from typing import ClassVar

EXIT_OK = 0
EXIT_CONFIG = 78
"""Exit code (EX_CONFIG) of a worker that cannot start before an operator acts."""


class FatalError(Exception):
    """An error that ends the worker: its messages are read again from the table's offsets."""

    code: ClassVar[int] = 75


class Fenced(FatalError):
    """A commit was refused because the table's next offset is not where the batch begins."""


class OffsetGap(FatalError):
    """Offsets are missing before or within a batch, and Kafka did not report them as deleted."""


class Unreachable(FatalError):
    """Kafka does not answer."""


class RetriesExhausted(FatalError):
    """Writing or committing failed on every attempt."""


class LedgerMismatch(FatalError):
    """Received is not stored + duplicate + quarantined + dropped."""


class LogDamaged(FatalError):
    """A table's log is damaged; the next start skips the table and stores the others."""


class TopicReplaced(FatalError):
    """The topic was recreated since its partitions were assigned."""


class OffsetOutOfRange(FatalError):
    """The topic partition ends below the table's next offset."""

    code = EXIT_CONFIG


class ForeignGroup(FatalError):
    """Workers of another lake are in the consumer group: each would store a part."""

    code = EXIT_CONFIG


class WrongCluster(FatalError):
    """The topic is of a Kafka cluster from which the table was not written."""

    code = EXIT_CONFIG


class IncompatibleLibrary(FatalError):
    """A library lacks a private attribute that the worker uses: another version is installed."""

    code = EXIT_CONFIG


class GeoDatabaseMissing(FatalError):
    """Rows stored without a location would never get one: IP addresses are not kept."""

    code = EXIT_CONFIG


class LakeUnreachable(FatalError):
    """The object store of the tables does not answer."""


class UnsafeStore(FatalError):
    """The object store would let two writers overwrite each other's commits."""

    code = EXIT_CONFIG


class RegistryMissing(FatalError):
    """A worker needs the website's domain to separate internal links from outbound ones."""

    code = EXIT_CONFIG


class TableRepaired(FatalError):
    """A table that was skipped for its damaged log can be opened again."""


class Unexpected(FatalError):
    """Any other error: the agent would stop storing."""

    code = 70


class Stuck(FatalError):
    """No commit for a minute although messages wait."""

    code = 70
