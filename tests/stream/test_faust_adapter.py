"""The Faust app of a worker on a broker: what it reads after its assignment."""

import asyncio
from collections.abc import Mapping
from typing import Any

import faust

from stream.app import create_app
from stream.consumer.fetch_budget import FetchBudget
from stream.consumer.progress import TopicPartition
from stream.consumer.start_offsets import KafkaOffsets, StartOffsets
from tests.stream.kafka_site import Site

START_SECONDS = 60.0


async def first_message(site: Site, start_offsets: StartOffsets) -> None:
    """Return when an app with these start offsets has read a message of `events`."""
    app = create_app(site.settings, "worker-1", {site.topic}, start_offsets, FetchBudget())
    app.conf.broker_request_timeout = site.settings.session_seconds
    read = asyncio.Event()

    @app.agent(app.topic(site.topic, value_serializer="raw", key_serializer="raw"))
    async def store(stream: faust.StreamT[Any]) -> None:
        async for _ in stream:
            read.set()

    start = asyncio.create_task(app.start())
    try:
        async with asyncio.timeout(START_SECONDS):
            await start
            await read.wait()
    finally:
        start.cancel()
        await app.stop()


def test_reading_starts_after_a_seek_that_takes_longer_than_a_request(site: Site) -> None:
    async def start_offsets(kafka_offsets: KafkaOffsets) -> Mapping[TopicPartition, int]:
        await asyncio.sleep(site.settings.session_seconds + 1)
        return dict.fromkeys(kafka_offsets, 0)

    site.create_topics()
    site.send("a")

    asyncio.run(first_message(site, start_offsets))
