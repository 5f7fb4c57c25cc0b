"""Servers that all processes use: what is wrong with them is said."""

from pathlib import Path

import pytest

from deploy.local.kafka.topics import ensure_topics, required_topics
from deploy.local.status import KafkaProblems, kafka_problems, limits_problem
from schemas.runtime.settings import Settings
from tests.chaos.kafka_cluster import NODES, KafkaCluster
from tests.installation import eventually, free_port
from tests.valkey_server import PASSWORD, ValkeyServer


@pytest.mark.long
def test_a_dead_broker_of_a_cluster_is_noticed(tmp_path: Path) -> None:
    with KafkaCluster(tmp_path / "kafka") as cluster:
        settings = Settings(
            data_dir=str(tmp_path), kafka=cluster.address, replication=NODES, partitions=3
        )
        ensure_topics(settings, required_topics(settings))
        eventually(lambda: not kafka_problems(settings).texts, 60, 0.5)
        cluster.nodes[2].kill()
        of_one = eventually(lambda: kafka_problems(settings).texts, 60, 0.5)
        cluster.nodes[1].kill()
        of_two = kafka_problems(settings)

    assert of_one[0].startswith("broker 3")
    assert of_one[0].endswith("of Kafka does not answer")
    assert of_one[-1].endswith("partitions in Kafka lack a replica")
    assert not of_two.takes_messages, of_two
    assert any("take no message" in text for text in of_two.texts)


def test_a_kafka_that_is_away_is_noticed_where_it_is_not_our_own(tmp_path: Path) -> None:
    away = f"127.0.0.1:{free_port()}"

    assert kafka_problems(Settings(data_dir=str(tmp_path))) == KafkaProblems()
    found = kafka_problems(Settings(data_dir=str(tmp_path), kafka=away))
    assert not found.takes_messages
    [problem] = found.texts
    assert problem.startswith(f"Kafka at {away} does not answer: ")


def test_a_server_of_limits_that_is_away_is_noticed(tmp_path: Path) -> None:
    password = tmp_path / "password"
    password.write_text(PASSWORD)
    with ValkeyServer() as server:
        settings = Settings(
            data_dir=str(tmp_path), limits_url=server.url, limits_password_file=str(password)
        )
        assert limits_problem(settings) is None
        server.kill()
        problem = limits_problem(settings)

    assert problem is not None
    assert problem.startswith("rate limits are those of each machine: the server 127.0.0.1:")
    assert PASSWORD not in problem
    assert limits_problem(Settings(data_dir=str(tmp_path))) is None
