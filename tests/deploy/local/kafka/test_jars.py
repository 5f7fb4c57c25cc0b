import hashlib
from pathlib import Path

import pytest

from deploy.local.kafka.jars import JAR_FOLDER, InvalidJar, broker_jars, read_checksums, verify_jars

LISTED = {
    "broker.jar": hashlib.sha256(b"broker").hexdigest(),
    "logger.jar": hashlib.sha256(b"logger").hexdigest(),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "broker.jar").write_bytes(b"broker")
    (tmp_path / "logger.jar").write_bytes(b"logger")
    return tmp_path


def test_jars_as_listed_are_taken(folder: Path) -> None:
    assert broker_jars(folder, LISTED) == [folder / "broker.jar", folder / "logger.jar"]


def test_a_tampered_jar_is_refused(folder: Path) -> None:
    (folder / "logger.jar").write_bytes(b"logger and something else")
    actual = hashlib.sha256(b"logger and something else").hexdigest()

    with pytest.raises(InvalidJar) as refused:
        broker_jars(folder, LISTED)

    assert str(refused.value) == (
        f"{folder / 'logger.jar'} has sha256 {actual}, but kafka-jars.sha256 lists "
        f"{LISTED['logger.jar']}. Delete {folder} and run the command again to download the jars."
    )


def test_a_missing_jar_is_refused(folder: Path) -> None:
    (folder / "broker.jar").unlink()

    with pytest.raises(InvalidJar, match=r"broker\.jar is missing\. Delete "):
        broker_jars(folder, LISTED)


def test_a_jar_that_is_not_listed_is_refused(folder: Path) -> None:
    (folder / "stranger.jar").touch()

    with pytest.raises(InvalidJar, match=r"stranger\.jar is not in kafka-jars\.sha256"):
        broker_jars(folder, LISTED)


def test_the_jars_of_this_environment_are_the_listed_ones() -> None:
    verify_jars(JAR_FOLDER, read_checksums())

    assert "kafka_2.13-4.2.1.jar" in read_checksums()
