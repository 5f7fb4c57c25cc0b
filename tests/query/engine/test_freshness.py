"""How fresh an answer says it is."""

from collections.abc import Mapping
from pathlib import Path

from msgspec import UNSET

from query.engine.freshness import UNMEASURED, Freshness, FreshnessTracker
from query.engine.snapshots import PinnedVersion
from query.engine.table_offsets import TableOffsets
from query.engine.topic_watermarks import NOT_MEASURED, Measurement, TopicWatermarks
from schemas.lake.delta_table import DataFile, TableVersion
from schemas.runtime.settings import Settings
from schemas.tables import CLICKS, EVENTS, IMPORTED_TOTALS, VITALS, Table

NOW = 1_796_000_000_000


def pinned(table: Table = EVENTS, checked: int = NOW, historic: bool = False) -> PinnedVersion:
    newest = DataFile("p", "2026-11-30", 1, 1, None, None, NOW - 60_000)
    return PinnedVersion(TableVersion(table, 1, (newest,)), checked, historic)


def tracker(folder: Path, *measured: tuple[int, Mapping[str, int]]) -> FreshnessTracker:
    """Of measurements that ended then, with the watermarks by table."""
    settings = Settings(data_dir=str(folder))
    offsets = TableOffsets(settings.lake_url, "", 1)
    watermarks = TopicWatermarks(settings, offsets, lambda: NOW)
    for read_ms, of_tables in measured:
        watermarks.add(Measurement(read_ms, of_tables))
    return FreshnessTracker(watermarks, lambda: NOW)


def test_an_answer_is_as_fresh_as_its_least_fresh_table(tmp_path: Path) -> None:
    found = tracker(tmp_path, (NOW - 100, {"events": NOW - 1_000, "clicks": NOW - 3_000}))

    assert found.freshness_of([pinned(), pinned(CLICKS)]) == Freshness(
        "2026-11-30T00:53:17.000Z", 3.0
    )


def test_what_was_stored_after_the_version_was_checked_is_not_claimed(tmp_path: Path) -> None:
    found = tracker(
        tmp_path, (NOW - 1_500, {"events": NOW - 9_000}), (NOW - 100, {"events": NOW - 200})
    )

    assert found.freshness_of([pinned(checked=NOW - 300)]).lag_seconds == 9.0
    assert found.freshness_of([pinned(checked=NOW)]).lag_seconds == 0.2


def test_while_kafka_is_away_the_last_watermark_is_marked_as_old(tmp_path: Path) -> None:
    found = tracker(tmp_path, (NOW - 30_000, {"events": NOW - 31_000}))

    assert found.freshness_of([pinned()]) == Freshness(
        "2026-11-30T00:52:49.000Z",
        31.0,
        "Kafka has not answered for 30 s: newer data may be stored",
    )


def test_before_kafka_has_answered_nothing_is_claimed(tmp_path: Path) -> None:
    assert tracker(tmp_path).freshness_of([pinned()]) == Freshness(None, None, NOT_MEASURED)


def test_a_table_without_a_topic_has_no_watermark(tmp_path: Path) -> None:
    found = tracker(tmp_path, (NOW - 100, {"events": NOW - 200}))

    assert found.freshness_of([pinned(), pinned(VITALS)]) == Freshness(None, None, UNMEASURED)


def test_imported_totals_are_as_fresh_as_the_check_of_their_log(tmp_path: Path) -> None:
    found = tracker(tmp_path).freshness_of([pinned(IMPORTED_TOTALS, checked=NOW - 500)])

    assert found == Freshness("2026-11-30T00:53:19.500Z", 0.5)


def test_a_version_of_the_past_has_nothing_newer_than_its_newest_row(tmp_path: Path) -> None:
    found = tracker(tmp_path).freshness_of([pinned(historic=True)])

    assert (found.lag_seconds, found.stale_reason) == (60.0, UNSET)
    assert tracker(tmp_path).freshness_of([]) == Freshness(None, None)
