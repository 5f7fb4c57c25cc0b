"""Access to Kafka: settings that do not fit together are refused by name."""

from pathlib import Path
from typing import Any

import pytest

from schemas.runtime.environment import InvalidSetting, load_settings
from schemas.runtime.kafka_access import client_arguments
from schemas.runtime.settings import Settings

LOGIN = {
    "TIDEMARK_KAFKA": "kafka:9092",
    "TIDEMARK_KAFKA_SECURITY_PROTOCOL": "SASL_PLAINTEXT",
    "TIDEMARK_KAFKA_USERNAME": "anna",
}


def test_without_settings_clients_use_neither_tls_nor_login() -> None:
    assert client_arguments(Settings(kafka="a:1,b:2")) == {
        "bootstrap_servers": "a:1,b:2",
        "security_protocol": "PLAINTEXT",
    }


def test_the_password_is_read_from_its_file(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("sesame\n")

    settings = load_settings({**LOGIN, "TIDEMARK_KAFKA_PASSWORD_FILE": str(file)})

    assert client_arguments(settings)["sasl_plain_password"] == "sesame"
    assert "sesame" not in repr(settings)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, "KAFKA_PASSWORD_FILE is not set"),
        ({"KAFKA_PASSWORD_FILE": "/nowhere"}, "PASSWORD_FILE='/nowhere': No such file"),
        ({"KAFKA_PASSWORD_FILE": "/dev/null"}, "PASSWORD_FILE='/dev/null': the file is empty"),
        ({"KAFKA_USERNAME": "", "KAFKA_PASSWORD_FILE": "/dev/null"}, "KAFKA_USERNAME is not set"),
        ({"KAFKA_SECURITY_PROTOCOL": "SSL"}, "KAFKA_USERNAME is not used with .*set that to SASL"),
        ({"KAFKA_CA_FILE": "/dev/null"}, "KAFKA_CA_FILE is not used with .*: set that to SSL"),
        ({"KAFKA": ""}, "SASL_PLAINTEXT needs a Kafka of your own: set TIDEMARK_KAFKA"),
    ],
)
def test_settings_that_do_not_fit_are_refused(changed: dict[str, str], said: str) -> None:
    environment = {**LOGIN, **{f"TIDEMARK_{name}": value for name, value in changed.items()}}

    with pytest.raises(InvalidSetting, match=said):
        load_settings(environment)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"ca_file": "/nowhere"}, "TIDEMARK_KAFKA_CA_FILE='/nowhere': No such file"),
        ({"ca_file": __file__}, "not the expected PEM file"),
        ({"certificate_file": __file__}, "CERTIFICATE_FILE=.*: not the expected PEM file"),
        ({"key_file": "/nowhere"}, "KEY_FILE needs TIDEMARK_KAFKA_CERTIFICATE_FILE"),
    ],
)
def test_unusable_files_are_refused(settings: dict[str, Any], said: str) -> None:
    named = {f"kafka_{name}": value for name, value in settings.items()}

    with pytest.raises(OSError, match=said):
        client_arguments(Settings(kafka="a:1", kafka_security_protocol="SSL", **named))
