"""Which data files of a day are merged."""

from collections.abc import Sequence
from datetime import UTC, date, datetime

from stream.maintenance.merge_plan import (
    FULL_FILE_BYTES,
    QUIET_MS,
    SMALL_FILE_BYTES,
    LiveDataFile,
    merge_plan,
)
from tests.stream.builders import (
    NOON_MS,
)

DAY_MS = 86_400_000


TODAY = date(2026, 11, 21)


def a_piece(
    size: int, day: date = TODAY, first: int = 1, last: int = 2, path: str = "p"
) -> LiveDataFile:
    """First and last are hours from the midnight that begins the day."""
    hour = 3_600_000
    midnight = int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() * 1000)

    def at(hours: int) -> datetime:
        return datetime.fromtimestamp((midnight + hours * hour) / 1000, UTC)

    return LiveDataFile(path, day, 10, size, at(first), at(last), midnight)


def sizes_joined(found: Sequence[LiveDataFile], now_ms: int = NOON_MS) -> list[list[int]]:
    return [[piece.size for piece in joined] for _, joined in merge_plan(found, now_ms, 3)]


def test_a_growing_day_joins_its_small_parts_then_its_medium_ones() -> None:
    small, medium, full = 100, SMALL_FILE_BYTES, FULL_FILE_BYTES

    assert sizes_joined([a_piece(small)] * 2 + [a_piece(medium)] * 7) == []
    assert sizes_joined([a_piece(small)] * 3 + [a_piece(full)]) == [[100, 100, 100]]
    assert sizes_joined([a_piece(medium)] * 8 + [a_piece(small)]) == [[medium] * 8]


def test_a_day_that_is_over_comes_into_its_final_form_once() -> None:
    yesterday = date(2026, 11, 20)
    day = a_piece(100, yesterday)
    late = a_piece(50, yesterday, first=-9, last=-1)
    mixed = a_piece(75, yesterday, first=-9, last=1)

    assert sizes_joined([day, day]) == [[100, 100]]
    assert sizes_joined([day, late, late]) == [[100, 50, 50]]
    assert sizes_joined([mixed]) == [[75]]
    assert sizes_joined([day, late]) == []
    assert sizes_joined([a_piece(FULL_FILE_BYTES, yesterday), day, late]) == []


def test_a_day_that_is_over_but_still_filled_is_treated_as_growing() -> None:
    yesterday = date(2026, 11, 20)
    begun = int(datetime(2026, 11, 20, tzinfo=UTC).timestamp() * 1000)
    found = [LiveDataFile("p", yesterday, 1, 100, None, None, begun + DAY_MS)] * 2

    assert sizes_joined(found, begun + DAY_MS + QUIET_MS) == []
    assert sizes_joined(found, begun + DAY_MS + QUIET_MS + 1) == [[100, 100]]


def test_rows_of_a_growing_day_are_not_written_again_with_every_few_new_ones() -> None:
    """A day of 2,000 batches of 150 rows: all of it stays below the size of a medium file."""
    files: list[LiveDataFile] = []
    written = most = 0
    for number in range(2_000):
        files.append(a_file(150, number))
        for _, merged in merge_plan(files, NOON_MS, 30):
            rows = sum(file.rows for file in merged)
            files = [*(file for file in files if file not in merged), a_file(rows, number)]
            written += rows
        most = max(most, len(files))

    assert sum(file.rows for file in files) == 300_000
    assert written < 6 * 300_000
    assert most <= 30 + 9


def test_a_merged_file_waits_for_twice_as_many_rows() -> None:
    merged = a_file(30_000, 0)
    few, enough = ([a_file(rows, n) for n in range(30)] for rows in (1_999, 2_000))

    assert rows_joined([merged, *few[:29]]) == []
    assert rows_joined([merged, *few]) == [59_970]
    assert rows_joined([merged, *enough]) == [90_000]
    tiny = [a_file(1, n) for n in range(29)]
    assert rows_joined([a_file(9_999, 0), *tiny]) == [10_028]  # to write it again is little
    assert rows_joined([a_file(10_000, 0), *tiny]) == []
    assert rows_joined([a_file(30_000, n) for n in range(30)]) == [900_000]


def a_file(rows: int, number: int) -> LiveDataFile:
    """One of so many rows of 40 bytes, received at noon."""
    return LiveDataFile(f"{number}-{rows}", TODAY, rows, 40 * rows, None, None, NOON_MS)


def rows_joined(found: Sequence[LiveDataFile]) -> list[int]:
    return [sum(file.rows for file in merged) for _, merged in merge_plan(found, NOON_MS, 30)]
