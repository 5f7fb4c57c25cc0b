"""What ends a worker, by name and exit code; a supervisor starts it again.

Surprise
├── Fenced 75          another worker has stored these offsets; read the table anew
├── Hole 75            messages are missing in front of a batch
├── Unreachable 75     Kafka went away while the worker started
├── KeepsFailing 75    the lake could not be written, again and again
├── Unbalanced 75      the ledger's sums do not match the rows
├── LogDamaged 75      the log of a table was damaged while the worker wrote to it
├── TopicChanged 75    a topic was made anew while it was read; ask the table anew
├── Recreated 78       the topic ends before what the table holds: an operator has to decide
├── OtherKafka 78      another cluster's topic, not the one that fed the table: likewise
├── Unplaced 78        a place database that a setting names cannot be read
├── NoRegistry 78      neither the registry nor a backup of it can be read
├── Mended 75          a table that could not be opened can be by now
├── Unexpected 70      what nothing is known of; its traceback is in the log
└── Stuck 70           work is there and nothing is stored
"""

from typing import ClassVar

EXIT_OK = 0
EXIT_CONFIG = 78
"""Exit code of who cannot go on before an operator decides something."""


class FatalError(Exception):
    """Something that a worker answers by ending: what it held is read again from the table on."""

    code: ClassVar[int] = 75


class Fenced(FatalError):
    """A commit refused because the table's next offset is not where the batch begins."""


class OffsetGap(FatalError):
    """A batch begins or goes on above the next offset, and nothing explains what lies between."""


class Unreachable(FatalError):
    """Kafka does not answer."""


class RetriesExhausted(FatalError):
    """Writing or committing failed on every try."""


class LedgerMismatch(FatalError):
    """Received is not stored + quarantined."""


class LogDamaged(FatalError):
    """A table cannot be opened any more; the next start leaves it out, and stores the others."""


class TopicReplaced(FatalError):
    """The topic is another one by now than when its partitions were assigned."""


class OffsetOutOfRange(FatalError):
    """Kafka's log ends below the table's next offset."""

    code = EXIT_CONFIG


class WrongCluster(FatalError):
    """The topic is of a Kafka cluster that the table does not know."""

    code = EXIT_CONFIG


class GeoDatabaseMissing(FatalError):
    """Rows stored without their place would never get one: addresses are not kept."""

    code = EXIT_CONFIG


class RegistryMissing(FatalError):
    """Rows that are stored without their website's domain would never tell its own pages apart."""

    code = EXIT_CONFIG


class TableRepaired(FatalError):
    """A table was left out because its log was damaged, and is whole again."""


class Unexpected(FatalError):
    """An error of another kind: its agent would not store anything any more."""

    code = 70


class Stuck(FatalError):
    """No commit for long although there is something to store."""

    code = 70
