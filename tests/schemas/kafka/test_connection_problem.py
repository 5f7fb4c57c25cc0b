"""Clients connect with TLS and a login, and say what to do when Kafka does not let them in."""

import gc
import socket
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.local.kafka.broker import KafkaUnavailable
from deploy.local.kafka.topics import TopicSpec, ensure_topics, partition_counts
from schemas.runtime.settings import Settings
from tests.secured_kafka import PASSWORD, SecuredBroker
from tests.tls_proxy import Certificates


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    with SecuredBroker(tmp_path_factory.mktemp("secured") / "broker") as running:
        yield running


def refusal(settings: Settings) -> str:
    """What a client says that cannot connect."""
    with warnings.catch_warnings():
        # asyncio may leave the transport of a failed handshake to the garbage collector.
        warnings.simplefilter("ignore", ResourceWarning)
        with pytest.raises(KafkaUnavailable) as raised:
            partition_counts(settings, ["any"])
        text = str(raised.value)
        del raised
        gc.collect()
    assert PASSWORD not in text
    return text


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_login_over_tls(broker: SecuredBroker, mechanism: str) -> None:
    settings = Settings(**broker.login(mechanism))
    name = f"made-{mechanism}"

    ensure_topics(settings, [TopicSpec(name, partitions=2)])

    assert partition_counts(settings, [name]) == {name: 2}


def test_a_client_certificate(broker: SecuredBroker) -> None:
    assert partition_counts(Settings(**broker.client_certificate()), ["none"]) == {"none": 0}


def test_a_wrong_password_is_said(broker: SecuredBroker, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong"
    wrong.write_text("open-0815")
    for mechanism in ("PLAIN", "SCRAM-SHA-512"):
        text = refusal(Settings(**broker.login(mechanism, kafka_password_file=str(wrong))))

        assert f"rejects the login of 'tidemark' ({mechanism})" in text
        assert "correct TIDEMARK_KAFKA_USERNAME or TIDEMARK_KAFKA_PASSWORD_FILE" in text
        assert "open-0815" not in text


def test_a_certificate_of_another_authority_is_said(broker: SecuredBroker, tmp_path: Path) -> None:
    other = Certificates(tmp_path)

    text = refusal(Settings(**broker.login(kafka_ca_file=str(other.authority_file))))

    assert "has a certificate that is not accepted" in text
    assert "set TIDEMARK_KAFKA_CA_FILE to the authority that signed it" in text


def test_another_protocol_than_that_of_the_listener_is_said(broker: SecuredBroker) -> None:
    plain = refusal(Settings(kafka=f"127.0.0.1:{broker.login_port}"))
    without_certificate = refusal(
        Settings(**{**broker.client_certificate(), "kafka_certificate_file": ""})
    )
    tls = refusal(Settings(**broker.login(kafka=broker.address)))

    assert "does not speak PLAINTEXT" in plain
    assert "TIDEMARK_KAFKA_CERTIFICATE_FILE" in without_certificate
    assert "set TIDEMARK_KAFKA_SECURITY_PROTOCOL to the protocol of that listener" in tls


def test_an_address_without_a_listener_is_said() -> None:
    text = refusal(Settings(kafka="127.0.0.1:1"))

    assert "127.0.0.1:1 refuses connections" in text
    assert text.endswith("start it, or correct TIDEMARK_KAFKA")


@pytest.mark.long
def test_a_listener_that_does_not_respond_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        text = refusal(Settings(kafka=f"127.0.0.1:{silent.getsockname()[1]}"))

    assert "does not respond: check TIDEMARK_KAFKA" in text
