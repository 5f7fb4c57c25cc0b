"""`tidemark doctor --repair` and `tidemark repair` on each kind of file with each kind of damage.

Each ends repaired or with a message that names the next step. Kafka's messages are kept in memory.
"""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from msgspec import structs

from deploy.local.doctor import CheckContext, run_checks
from deploy.local.doctor.registry import REGISTRY_CHECK
from deploy.local.doctor.tables import DATA_FILES_CHECK, LOGS_CHECK
from schemas.kinds import CUSTOM_EVENT
from schemas.lake.delta_log import (
    COPIES_FOLDER,
    LOG_FOLDER,
    checkpoint_name,
    entry_name,
    last_checkpoint,
)
from schemas.lake.topic_identity import TopicIdentity
from schemas.registry import Backups, RegistryStore, validation
from schemas.registry.backups import write_backup
from schemas.runtime.clock import now_ms
from schemas.runtime.settings import Settings
from schemas.tables import EVENTS, LEDGER, QUARANTINE, SESSIONS, Table
from stream.enrich.rules.lookups import Lookups
from stream.maintenance import derivation
from stream.maintenance.derivation import Derivation
from stream.maintenance.log_copies import copy_log
from stream.maintenance.merge_plan import QUIET_MS
from stream.maintenance.vacuum import checkpoint
from stream.recovery import lost_rows
from stream.rows.kafka_message import KafkaMessage
from stream.storage.delta_commit import LakeTable
from stream.writing.batch_writer import BatchWriter
from tests.accidents import ACCIDENTS
from tests.deploy.cli.command_result import run_command
from tests.stream.builders import NOON_MS, a_message, an_envelope, rows, settings, version

TOPIC = TopicIdentity("a topic", "a cluster")
DAY_MS = 86_400_000

MESSAGES = (
    a_message(0, an_envelope([{"name": "screen_view", "path": "/a", "anonymousId": "v"}])),
    # Without a page: its batch has plain columns where that of the first has dictionaries.
    a_message(1, an_envelope([{"name": "signup", "anonymousId": "v"}], user_agent="")),
    a_message(2, body=b"no chunk"),
    a_message(3, an_envelope([{"name": "c"}, {"name": "d"}], received_ms=NOON_MS - DAY_MS)),
)
NAMES = [("c",), ("d",), ("screen_view",), ("signup",)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, new_registry: Path) -> Path:
    """A data folder with a file of each kind."""
    folder = tmp_path_factory.mktemp("whole")
    config = settings(folder)
    shutil.copy(new_registry, folder)
    store = RegistryStore(config.registry_url)
    owner = store.create(validation.new_organization("Acme", "free", now_ms()))
    for website_id in ("w1", "w2"):
        website = validation.new_website(owner.id, f"{website_id}.example", now_ms())
        store.create(structs.replace(website, id=website_id))
        write_backup(store, Backups.for_settings(config), now_ms())
    store.close()
    writer = BatchWriter(config, CUSTOM_EVENT, Lookups())
    writer.assign_topic(TOPIC, {0: len(MESSAGES)})
    events = LakeTable(config, EVENTS)
    for batch in (MESSAGES[:3], MESSAGES[3:]):
        writer.write(list(batch))
        checkpoint(events)
        copy_log(events, config)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(derivation, "now_ms", lambda: now_ms() + DAY_MS + QUIET_MS)
        Derivation()(events, config)
    return folder


def data_file(table: Table) -> Callable[[Settings], Path]:
    """The data file with the first rows of a table."""
    return lambda config: min(
        (Path(file.path) for file in version(config, table).data_files),
        key=lambda path: path.stat().st_mtime_ns,
    )


def log_file(folder: str, name: Callable[[int], str], back: int = 0) -> Callable[[Settings], Path]:
    """A file of the log of `events`, or its copy, `back` versions before the last checkpoint."""

    def path(config: Settings) -> Path:
        table = Path(config.lake_url) / EVENTS.name
        return table / folder / name(last_checkpoint(table / LOG_FOLDER) - back)

    return path


def newest_backup(config: Settings) -> Path:
    return Path(str(Backups.for_settings(config).paths()[0]))


FILES: dict[str, tuple[Callable[[Settings], Path], str, str]] = {
    "data file": (data_file(EVENTS), "2 of 2 rows stored again from Kafka, none lost", ""),
    "ledger": (data_file(LEDGER), "--accept-loss", "are lost and noted as such"),
    "quarantine": (data_file(QUARANTINE), "--accept-loss", "are lost and noted as such"),
    "derived table": (data_file(SESSIONS.table), "the keeper computes the file again", ""),
    "checkpoint": (log_file(LOG_FOLDER, checkpoint_name), "of table 'events' repaired", ""),
    "log entry that a checkpoint covers": (log_file(LOG_FOLDER, entry_name, 1), "", ""),
    "copy of a checkpoint": (log_file(COPIES_FOLDER, checkpoint_name), "", ""),
    "registry": (lambda config: config.data / "registry.db", "", ""),
    "backup of the registry": (newest_backup, "", ""),
}
"""Which file, what `doctor --repair` reports, and what `repair --accept-loss` does."""


def doctor(config: Settings) -> tuple[str, str]:
    """What was repaired or not, and what is found after that."""
    results = run_checks(
        [LOGS_CHECK, DATA_FILES_CHECK, REGISTRY_CHECK], CheckContext(config, checksums=True), True
    )
    findings = [f for result in results for f in result.findings]
    return (
        "\n".join(text for result in results for text in result.repairs),
        "\n".join(f"{found.subject}: {found.problem}; {found.remedy}" for found in findings),
    )


@pytest.fixture
def messages_in_kafka(monkeypatch: pytest.MonkeyPatch) -> list[KafkaMessage]:
    """What a replay reads, in batches of one message."""
    messages: list[KafkaMessage] = list(MESSAGES)

    def replay(*arguments: object) -> None:
        handle: Callable[[Sequence[KafkaMessage]], bool] = arguments[-1]  # type: ignore[assignment]
        for message in messages:
            if not handle([message]):
                return

    monkeypatch.setattr(lost_rows, "replay", replay)
    monkeypatch.setattr(lost_rows, "topic_identity", lambda *_: TOPIC)
    return messages


@pytest.mark.parametrize("kind", FILES)
def test_each_damage_ends_repaired_or_with_a_clear_message(
    whole: Path,
    kind: str,
    tmp_path: Path,
    messages_in_kafka: list[KafkaMessage],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    find, of_doctor, of_repair = FILES[kind]
    for accident, damage in ACCIDENTS.items():
        folder = tmp_path / accident
        shutil.copytree(whole, folder)
        config = settings(folder)
        monkeypatch.setenv("TIDEMARK_DATA_DIR", str(folder))
        file = find(config)
        damage(file)

        repairs, left = doctor(config)

        assert of_doctor in repairs, (accident, repairs)
        assert "Error" not in repairs + left, (accident, repairs, left)
        if of_repair:
            subject = str(file.relative_to(config.lake_url))
            done = run_command(("repair", subject, "--accept-loss"), capsys)
            assert (done.code, of_repair in done.out) == (0, True), (accident, done)
            left = doctor(config)[1]
        if kind == "derived table":
            Derivation()(LakeTable(config, EVENTS), config)
            left = doctor(config)[1]
        if kind == "backup of the registry":
            assert "delete that file, then tidemark registry backup" in left or not left
        else:
            assert left == "", (accident, left)
        assert rows(config, EVENTS, "name") == NAMES, accident


def test_rows_that_kafka_has_no_more_are_given_up_by_command_only(
    whole: Path,
    tmp_path: Path,
    messages_in_kafka: list[KafkaMessage],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shutil.copytree(whole, tmp_path / "data")
    config = settings(tmp_path / "data")
    monkeypatch.setenv("TIDEMARK_DATA_DIR", config.data_dir)
    file = data_file(EVENTS)(config)
    subject = str(file.relative_to(config.lake_url))
    file.unlink()
    del messages_in_kafka[0]

    assert "Kafka still has 1 of 2 rows" in doctor(config)[0]
    refused = run_command(("repair", subject), capsys)
    assert (refused.code, "Kafka still has 1 of 2 rows" in refused.err) == (1, True)
    assert (
        "1 of 2 rows stored again" in run_command(("repair", subject, "--accept-loss"), capsys).out
    )
    assert rows(config, EVENTS, "name") == [name for name in NAMES if name != ("screen_view",)]
    assert doctor(config)[1] == ""


def test_a_damaged_quarantine_that_a_repair_needs_is_named(
    whole: Path, tmp_path: Path, messages_in_kafka: list[KafkaMessage]
) -> None:
    shutil.copytree(whole, tmp_path / "data")
    config = settings(tmp_path / "data")
    quarantine = data_file(QUARANTINE)(config)
    for file in (quarantine, data_file(EVENTS)(config)):
        file.unlink()

    repairs, _ = doctor(config)

    assert (
        f"{quarantine.name} of table 'quarantine' is missing (1 rows), and it is needed" in repairs
    )
