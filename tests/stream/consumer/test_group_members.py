"""Members of a consumer group that store to another lake are recognized by their client ids."""

from pathlib import Path

from schemas.runtime.settings import Settings
from stream.consumer.group_members import client_id, foreign_members, lake_id


def test_workers_of_the_same_lake_and_other_programs_are_not_foreign() -> None:
    members = [client_id("lake-a", "worker-1"), "faust-0.12", "", "tidemark-lake"]

    assert foreign_members(members, "lake-a") == []


def test_workers_of_another_lake_are_foreign() -> None:
    members = [client_id("lake-b", "worker-2"), client_id("lake-a", "worker-1")]

    assert foreign_members(members, "lake-a") == ["tidemark-lake/lake-b/worker-2"]


def test_a_lake_without_tables_has_no_id(tmp_path: Path) -> None:
    assert lake_id(Settings(data_dir=str(tmp_path))) == ""
