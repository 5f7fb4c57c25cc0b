"""Brokers that answer, that are gone, and that are frozen: these still accept connections."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import closing

import pytest
from aiokafka.errors import KafkaConnectionError

from deploy.local.kafka.broker import Broker
from deploy.local.kafka.topic_configuration import any_broker, silent_brokers
from schemas.runtime.settings import Settings
from tests.installation import free_port


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    folder = tmp_path_factory.mktemp("kafka")
    with Broker(folder, port=free_port(), controller_port=free_port()) as running:
        yield running


@pytest.fixture
def frozen() -> Iterator[int]:
    """The port of a listener that never answers."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        yield listener.getsockname()[1]


def asked(settings: Settings) -> str:
    """The address of the broker that answers."""

    async def ask() -> str:
        async with any_broker(settings) as connection:
            return f"{connection.host}:{connection.port}"

    return asyncio.run(ask())


def test_what_does_not_answer_is_silent(broker: Broker, frozen: int) -> None:
    ports = {1: broker.port, 2: free_port(), 3: frozen}
    addresses = {number: ("127.0.0.1", port) for number, port in ports.items()}

    assert asyncio.run(silent_brokers(Settings(), addresses)) == {2, 3}


def test_the_first_broker_that_answers_is_asked(broker: Broker, frozen: int) -> None:
    own, gone = f"127.0.0.1:{broker.port}", f"127.0.0.1:{free_port()}"

    assert asked(Settings(kafka=f"{gone},127.0.0.1:{frozen},{own}")) == own
    with pytest.raises(KafkaConnectionError):
        asked(Settings(kafka=f"{gone},127.0.0.1:{frozen}"))
