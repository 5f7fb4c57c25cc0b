"""The Faust app of a worker on a broker: how it starts to read what it was assigned."""

import asyncio
from collections.abc import Mapping
from typing import Any

import faust
import pytest
from aiokafka.errors import KafkaTimeoutError
from faust.types import TP

from stream.app import create_app
from stream.consumer.fetch_budget import FetchBudget
from stream.consumer.progress import TopicPartition
from stream.consumer.start_offsets import KafkaOffsets, StartOffsets
from tests.stream.kafka_site import Site

START_SECONDS = 60.0


def make_app(site: Site, start_offsets: StartOffsets) -> faust.App:
    """An app that reads `events` and waits for a request no longer than it must."""
    app = create_app(site.settings, "worker-1", {site.topic}, start_offsets, FetchBudget())
    app.conf.broker_request_timeout = site.settings.session_seconds
    return app


async def read_first_message(app: faust.App, site: Site) -> None:
    """Return when the app has read a message."""
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


@pytest.mark.long
def test_reading_starts_after_a_seek_that_takes_longer_than_a_request(site: Site) -> None:
    async def run() -> None:
        async def start_offsets(kafka_offsets: KafkaOffsets) -> Mapping[TopicPartition, int]:
            await asyncio.sleep(site.settings.session_seconds + 1)
            return dict.fromkeys(kafka_offsets, 0)

        await read_first_message(make_app(site, start_offsets), site)

    site.create_topics()
    site.send("a")
    asyncio.run(run())


def test_reading_starts_when_kafka_has_opened_the_partitions(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        async def start_offsets(kafka_offsets: KafkaOffsets) -> Mapping[TopicPartition, int]:
            return dict.fromkeys(kafka_offsets, 0)

        async def highwaters(*partitions: TP) -> Mapping[TP, int]:
            if not timeouts:
                timeouts.append(KafkaTimeoutError("leaders are being elected"))
                raise timeouts[0]
            return await ask(*partitions)

        timeouts: list[KafkaTimeoutError] = []
        app = make_app(site, start_offsets)
        ask = app.consumer.highwaters
        monkeypatch.setattr(app.consumer, "highwaters", highwaters)
        await read_first_message(app, site)

    site.create_topics()
    site.send("a")
    asyncio.run(run())


def test_two_seeks_of_one_assignment_look_its_offsets_up_once(site: Site) -> None:
    """Faust seeks also when a fetch that began before a rebalance returns, beside the other."""
    looked_up: list[KafkaOffsets] = []

    async def run() -> None:
        seeks: list[asyncio.Task[None]] = []

        async def start_offsets(kafka_offsets: KafkaOffsets) -> Mapping[TopicPartition, int]:
            looked_up.append(kafka_offsets)
            if not seeks:
                seeks.append(asyncio.create_task(app.consumer.perform_seek()))
                await asyncio.sleep(0.5)
            return dict.fromkeys(kafka_offsets, 0)

        app = make_app(site, start_offsets)
        await read_first_message(app, site)
        await seeks[0]

    site.create_topics()
    site.send("a")
    asyncio.run(run())
    assert len(looked_up) == 1
