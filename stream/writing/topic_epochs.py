"""Topic epochs: count the recreations of a topic, so that offsets of two never mix.

A table records the epoch of each topic id that it has read, by the same compare-and-swap as its
next offsets, and before the first commit of that epoch:

| the table knows              | Kafka has  | result                                          |
|------------------------------|------------|-------------------------------------------------|
| no id (it is older than ids) | any        | adopted, when the offsets may be this topic's   |
| this id                      | this id    | reading resumes in the epoch of this id         |
| others, of this cluster      | another id | recreated: a new epoch, from its first message  |
| others, of another cluster   | another id | `WrongCluster`, unless the broker is our own    |
| any                          | any        | `TIDEMARK_INGEST_EPOCH`, when above all known   |

When an earlier id returns (a restored Kafka, an address that was wrong for a while), reading
resumes in the epoch of that id.
"""

from collections.abc import Mapping

from msgspec import Struct

from schemas.lake.committed_offsets import app_id, cluster_app_id, epoch_app_id, identity_app_id
from schemas.lake.topic_identity import TopicIdentity
from schemas.runtime.settings import Settings
from stream.runtime.errors import Fenced, RetriesExhausted, Unreachable, WrongCluster
from stream.storage.delta_commit import LakeTable, OffsetUpdate

MAX_ATTEMPTS = 5
MAX_EPOCHS_BACK = 64
"""How many earlier epochs are searched for the one that was read before the current one."""

CLUSTER_KNOWN = 1
"""Transaction version of a Kafka cluster's application id, for clusters that wrote the table."""


class TopicEpoch(Struct, frozen=True):
    """The epoch of a topic that a table reads from now on."""

    number: int
    is_new: bool = False
    """Whether it was recorded just now and replaces another."""


def assign_epoch(
    table: LakeTable,
    topic: str,
    identity: TopicIdentity | None,
    end_offsets: Mapping[int, int],
    settings: Settings,
) -> TopicEpoch:
    """The epoch of the topic that Kafka has, recorded in the table.

    `end_offsets` are Kafka's, by partition.
    """
    for _ in range(MAX_ATTEMPTS):
        table.refresh()
        try:
            return _assigned(table, topic, identity, end_offsets, settings)
        except Fenced:  # another worker recorded it first
            continue
    raise RetriesExhausted(f"{table.table.name}: the epoch of {topic} could not be recorded")


def _assigned(
    table: LakeTable,
    topic: str,
    identity: TopicIdentity | None,
    end_offsets: Mapping[int, int],
    settings: Settings,
) -> TopicEpoch:
    configured = settings.ingest_epoch
    newest = table.next_offset(epoch_app_id(topic))
    if identity is None:
        if newest:
            raise Unreachable(f"Kafka does not report a topic id for {topic}")
        return TopicEpoch(configured)
    known = table.next_offset(identity_app_id(topic, identity.id))
    if known and configured <= newest:
        return TopicEpoch(known)
    if not newest and _was_recreated(table, topic, end_offsets, configured):
        return TopicEpoch(configured)  # nothing to adopt: the worker refuses the offsets
    same_kafka = table.next_offset(cluster_app_id(topic, identity.cluster)) or _is_own_kafka(
        settings
    )
    if newest and not same_kafka and configured <= newest:
        raise WrongCluster(
            f"{topic} is of Kafka cluster {identity.cluster}, but table {table.table.name} was "
            "written from another cluster. If TIDEMARK_KAFKA names the wrong Kafka, correct it. If "
            f"the old Kafka is gone for good, set TIDEMARK_INGEST_EPOCH to {newest + 1}: the "
            "topic is then stored from its first message on"
        )
    number = max(configured, newest + 1) if newest else configured
    updates = {
        epoch_app_id(topic): OffsetUpdate(newest, number),
        identity_app_id(topic, identity.id): OffsetUpdate(known, number),
    }
    if not table.next_offset(cluster_app_id(topic, identity.cluster)):
        updates[cluster_app_id(topic, identity.cluster)] = OffsetUpdate(0, CLUSTER_KNOWN)
    table.commit([], updates)
    return TopicEpoch(number, is_new=newest > 0)


def _is_own_kafka(settings: Settings) -> bool:
    """Whether Kafka and lake are in the same data folder, so that they belong together."""
    return not settings.kafka and not settings.lake


def _was_recreated(
    table: LakeTable, topic: str, end_offsets: Mapping[int, int], epoch: int
) -> bool:
    """Whether the table's next offset is above Kafka's end: its offsets are of another topic."""
    return any(table.next_offset(app_id(epoch, topic, p)) > end for p, end in end_offsets.items())


def previous_topic(
    table: LakeTable, topic: str, epoch: int, partition: int
) -> tuple[int, int] | None:
    """The last epoch before this one from which the table has messages, and its next offset."""
    for earlier in range(epoch - 1, max(0, epoch - MAX_EPOCHS_BACK) - 1, -1):
        offset = table.next_offset(app_id(earlier, topic, partition))
        if offset:
            return earlier, offset
    return None
