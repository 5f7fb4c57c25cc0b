"""The retention of tables follows from where the lake is, unless a setting names another."""

import pytest

from schemas.lake.retention import TableRetention, table_retention
from schemas.runtime.settings import Settings

DAY, WEEK = 24 * 60, 7 * 24 * 60


@pytest.mark.parametrize(
    ("settings", "retention"),
    [
        (Settings(), TableRetention(15, 60)),
        (Settings(lake="file:///lake"), TableRetention(15, 60)),
        (Settings(lake="s3://bucket/lake"), TableRetention(DAY, WEEK)),
        (Settings(lake="s3://bucket/lake", tombstone_minutes=60), TableRetention(60, WEEK)),
        (Settings(log_minutes=WEEK), TableRetention(15, WEEK)),
    ],
)
def test_retention_by_settings(settings: Settings, retention: TableRetention) -> None:
    assert table_retention(settings) == retention
