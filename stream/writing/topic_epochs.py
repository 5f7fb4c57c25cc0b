"""Epochs: which making of its topic a table reads, so that the offsets of two never mix.

A table keeps under which epoch it knows each id of its topic, moved by the same compare-and-swap as
its next offsets, and before the first commit of that epoch:

| the table knows              | Kafka has  | what follows                                     |
|------------------------------|------------|--------------------------------------------------|
| no id (it is older than ids) | any        | adopted, when the offsets may be this topic's    |
| this id                      | this id    | reads on in the epoch of this id                 |
| others, of this cluster      | another id | made anew: a new epoch, from its first message   |
| others, of another cluster   | another id | `WrongCluster`, unless the broker is our own       |
| any                          | any        | `TIDEMARK_INGEST_EPOCH`, when above all known    |

An id that comes back (a restored Kafka, an address that was wrong for a while) is read on where
its own epoch was.
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
"""Epochs before the present one among which that is looked for which was read before it."""

CLUSTER_KNOWN = 1


class TopicEpoch(Struct, frozen=True):
    """Which making of a topic a table reads from now on."""

    number: int
    is_new: bool = False
    """Whether it was recorded just now, in place of another."""


def assign_epoch(
    table: LakeTable,
    topic: str,
    identity: TopicIdentity | None,
    ends: Mapping[int, int],
    settings: Settings,
) -> TopicEpoch:
    """The epoch of the topic that Kafka has, recorded in the table; `ends` by topic partition."""
    for _ in range(MAX_ATTEMPTS):
        table.refresh()
        try:
            return _assigned(table, topic, identity, ends, settings)
        except Fenced:  # another worker recorded it meanwhile
            continue
    raise RetriesExhausted(f"{table.table.name}: the epoch of {topic} could not be recorded")


def _assigned(
    table: LakeTable,
    topic: str,
    identity: TopicIdentity | None,
    ends: Mapping[int, int],
    settings: Settings,
) -> TopicEpoch:
    least = settings.ingest_epoch
    newest = table.next_offset(epoch_app_id(topic))
    if identity is None:
        if newest:
            raise Unreachable(f"Kafka does not say which making of {topic} it has")
        return TopicEpoch(least)
    known = table.next_offset(identity_app_id(topic, identity.id))
    if known and least <= newest:
        return TopicEpoch(known)
    if not newest and _was_recreated(table, topic, ends, least):
        return TopicEpoch(least)  # the worker refuses it by its offsets; there is nothing to adopt
    same_kafka = table.next_offset(cluster_app_id(topic, identity.cluster)) or _is_own_kafka(
        settings
    )
    if newest and not same_kafka and least <= newest:
        raise WrongCluster(
            f"{topic} is of Kafka cluster {identity.cluster}, but table {table.table.name} was fed "
            "by another cluster. If TIDEMARK_KAFKA names the wrong Kafka, mend it. If the old "
            f"Kafka is gone for good, set TIDEMARK_INGEST_EPOCH to {newest + 1}: what this one "
            "holds is then stored from its first message on"
        )
    number = max(least, newest + 1) if newest else least
    moves = {
        epoch_app_id(topic): OffsetUpdate(newest, number),
        identity_app_id(topic, identity.id): OffsetUpdate(known, number),
    }
    if not table.next_offset(cluster_app_id(topic, identity.cluster)):
        moves[cluster_app_id(topic, identity.cluster)] = OffsetUpdate(0, CLUSTER_KNOWN)
    table.commit([], moves)
    return TopicEpoch(number, is_new=newest > 0)


def _is_own_kafka(settings: Settings) -> bool:
    """Whether Kafka and lake lie in one data folder, so that neither can be another's."""
    return not settings.kafka and not settings.lake


def _was_recreated(table: LakeTable, topic: str, ends: Mapping[int, int], epoch: int) -> bool:
    """Whether the table goes beyond what Kafka has: its offsets were counted in another topic."""
    return any(table.next_offset(app_id(epoch, topic, p)) > end for p, end in ends.items())


def previous_topic(
    table: LakeTable, topic: str, epoch: int, partition: int
) -> tuple[int, int] | None:
    """The last epoch before this one of which the table has messages, and its next offset."""
    for before in range(epoch - 1, max(0, epoch - MAX_EPOCHS_BACK) - 1, -1):
        offset = table.next_offset(app_id(before, topic, partition))
        if offset:
            return before, offset
    return None
