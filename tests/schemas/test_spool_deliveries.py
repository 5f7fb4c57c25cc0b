"""Where spooled requests are in Kafka, by the number of each in its spool file."""

import os
import time
from pathlib import Path

import pytest

from schemas.spool_deliveries import (
    RETENTION_HOURS,
    Delivery,
    delete_old_deliveries,
    delivered_numbers,
    deliveries_path,
    read_delivery,
    spool_id,
    write_deliveries,
)

FILE = "0123456789ab-000001"
THIRD = Delivery(7, 2**40, 12, "Jm9z0vVSRvyYt3LqTq8cFw")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file of the deliveries; nothing is delivered."""
    path = deliveries_path(tmp_path, FILE)
    path.parent.mkdir(parents=True)
    path.touch()
    return path


def test_a_delivery_is_found_by_its_number_and_others_are_not_delivered(
    tmp_path: Path, path: Path
) -> None:
    write_deliveries(path, [(3, THIRD)])
    write_deliveries(path, [(1, Delivery(0, 0, 0, ""))])

    found = [read_delivery(tmp_path, spool_id(FILE, number)) for number in range(5)]
    assert found == [None, Delivery(0, 0, 0, ""), None, THIRD, None]
    assert delivered_numbers(path) == {1, 3}


@pytest.mark.parametrize("name", ["0123456789ab-000002/1", "../../registry.db/0", "", "x/1"])
def test_a_request_of_an_unknown_file_is_of_another_machine(
    tmp_path: Path, path: Path, name: str
) -> None:
    write_deliveries(path, [(1, THIRD)])

    with pytest.raises(FileNotFoundError):
        read_delivery(tmp_path, name)


def test_files_are_deleted_after_a_week_unless_something_is_undelivered(
    tmp_path: Path, path: Path
) -> None:
    new, waiting = path.with_name("b"), path.with_name("c")
    for file in (new, waiting):
        file.touch()
    before = time.time() - RETENTION_HOURS * 3600 - 60
    for file in (path, waiting):
        os.utime(file, (before, before))

    delete_old_deliveries(tmp_path, {"c"})

    assert sorted(file.name for file in path.parent.iterdir()) == ["b", "c"]
