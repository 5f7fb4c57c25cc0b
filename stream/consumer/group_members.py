"""Which lakes the members of a consumer group store to; a group of two lakes splits its messages.

Each worker joins with a client id that names its lake, so that one of another lake is recognized.
"""

import asyncio
import logging
from collections.abc import Iterable

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from schemas.lake.delta_table import UnreadableTable, open_table
from schemas.runtime.kafka_access import client_arguments
from schemas.runtime.settings import Settings
from schemas.tables import EVENTS
from stream.runtime.errors import ForeignGroup

log = logging.getLogger(__name__)

PREFIX = "tidemark-lake"
SEPARATOR = "/"
TIMEOUT_SECONDS = 5.0


def lake_id(settings: Settings) -> str:
    """The id of the lake, made with its table of events; empty while that cannot be opened."""
    try:
        table = open_table(settings.lake_url, EVENTS)
    except UnreadableTable:
        return ""
    return str(table.metadata().id) if table else ""


def client_id(lake: str, name: str) -> str:
    """The client id of a worker."""
    return SEPARATOR.join((PREFIX, lake, name))


def foreign_members(client_ids: Iterable[str], lake: str) -> list[str]:
    """Client ids that name another lake."""
    foreign = []
    for text in client_ids:
        prefix, _, rest = text.partition(SEPARATOR)
        other, _, _ = rest.partition(SEPARATOR)
        if prefix == PREFIX and other and other != lake:
            foreign.append(text)
    return sorted(foreign)


async def refuse_foreign_group(settings: Settings, group: str, lake: str) -> None:
    """ForeignGroup if workers of another lake are in the consumer group now."""
    if not lake:
        return
    try:
        members = await asyncio.wait_for(_client_ids(settings, group), TIMEOUT_SECONDS)
    except (KafkaError, TimeoutError) as error:  # no group was ever there, or it may not be read
        log.info("members of the consumer group not read", extra={"reason": repr(error)})
        return
    if foreign := foreign_members(members, lake):
        raise ForeignGroup(
            f"consumer group {group} at {settings.brokers} has workers of another lake "
            f"({', '.join(foreign)}), which would store a part of the messages of this one. "
            "Set TIDEMARK_CONSUMER_GROUP, or TIDEMARK_TOPIC_PREFIX for topics of its own."
        )


async def _client_ids(settings: Settings, group: str) -> list[str]:
    admin = AIOKafkaAdminClient(**client_arguments(settings))
    try:
        await admin.start()
        responses = await admin.describe_consumer_groups([group])
    finally:
        await admin.close()
    members = [member for response in responses for found in response.groups for member in found[5]]
    return [member[1] for member in members]
