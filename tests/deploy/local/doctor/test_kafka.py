"""Offsets of tables that cannot be read are not called right."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.local.doctor import CheckContext, run_checks
from deploy.local.doctor.kafka import POSITIONS_CHECK
from deploy.local.kafka.broker import Broker
from deploy.local.kafka.topics import ensure_topics, required_topics
from schemas.lake.table_location import table_url
from schemas.runtime.settings import Settings
from schemas.tables import EVENTS
from stream.storage.table_setup import open_or_create
from tests.installation import free_port


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[Settings]:
    with Broker(tmp_path / "kafka", port=free_port(), controller_port=free_port()) as broker:
        settings = Settings(data_dir=str(tmp_path / "data"), kafka=broker.address)
        ensure_topics(settings, required_topics(settings))
        yield settings


def test_positions_of_a_table_that_cannot_be_read_are_not_ok(settings: Settings) -> None:
    url = table_url(settings.lake_url, EVENTS)
    open_or_create(url, EVENTS, settings)
    [whole] = run_checks([POSITIONS_CHECK], CheckContext(settings))
    for entry in Path(url.removeprefix("file://")).glob("_delta_log/*.json"):
        entry.write_text("no JSON")

    [damaged] = run_checks([POSITIONS_CHECK], CheckContext(settings))

    assert whole.state == "ok"
    assert (damaged.state, damaged.skipped) == (
        "skipped",
        "not checked: tables that cannot be read (events)",
    )
