"""A topic that cannot keep what is sent to it is refused before anything is taken."""

import asyncio
from pathlib import Path

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from deploy.local.doctor.check import CheckContext
from deploy.local.doctor.kafka import TOPIC_CONFIGURATION_CHECK
from deploy.local.kafka.broker import Broker
from deploy.local.kafka.topics import TopicSpec, ensure_topics, required_topics
from schemas.runtime.kafka_access import client_arguments
from schemas.runtime.settings import Settings
from tests.http_client import call
from tests.ingest.collector_process import CollectorProcess, published_names
from tests.installation import eventually


class CompactedTopic(TopicSpec, frozen=True):
    """A topic that somebody else has created."""

    @property
    def configuration(self) -> dict[str, str]:
        return {"cleanup.policy": "compact", "retention.ms": "3600000"}


def test_a_compacted_topic_is_refused_and_found(tmp_path: Path, broker: Broker) -> None:
    collector = CollectorProcess(tmp_path, broker.address, topic_prefix=f"{tmp_path.name}-")
    settings = collector.settings
    name = settings.topic("vitals")
    ensure_topics(settings, [CompactedTopic(name)])
    ensure_topics(settings, [topic for topic in required_topics(settings) if topic.name != name])

    with collector:
        eventually(lambda: "cleanup.policy=compact" in kafka_check(collector), 60)
        refused = collector.post({"name": "early"})
        found = list(TOPIC_CONFIGURATION_CHECK.run(CheckContext(settings)))
        asyncio.run(set_policy(settings, name))
        eventually(collector.ready, 60)
        accepted = collector.post({"name": "late"})
        names = published_names(collector)

    assert (refused.status, accepted.status) == (503, 200)
    assert names == ["late"]
    assert [finding.subject for finding in found] == [f"topic {name}"] * 2
    assert "after 1 hours, not 72" in found[1].problem


async def set_policy(settings: Settings, name: str) -> None:
    admin = AIOKafkaAdminClient(**client_arguments(settings))
    await admin.start()
    resource = ConfigResource(ConfigResourceType.TOPIC, name, {"cleanup.policy": "delete"})
    await admin.alter_configs([resource])
    await admin.close()


def kafka_check(collector: CollectorProcess) -> str:
    text: str = call("GET", f"{collector.url}/health").json["checks"]["kafka"]
    return text
