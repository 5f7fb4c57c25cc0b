"""The demo has an example of each saved record, and the addresses of the last start."""

from pathlib import Path

from msgspec import structs

from deploy.demo.demo_file import example_query, read_demo, refresh_addresses, write_demo
from deploy.demo.first_start import create_demo
from schemas.registry import SAVED_RECORDS, RegistryStore
from schemas.runtime.settings import Settings
from tests.registries import make_registry


def test_the_demo_has_saved_records(tmp_path: Path) -> None:
    settings = Settings(data_dir=str(tmp_path))
    make_registry(settings.registry_url)

    demo = create_demo(settings)

    store = RegistryStore(settings.registry_url)
    counts = {kind.plural: store.count(kind, website_id=demo.website_id) for kind in SAVED_RECORDS}
    store.close()
    assert counts == {
        "goals": 3,
        "segments": 1,
        "annotations": 1,
        "money": 1,
        "shares": 0,
        "funnels": 1,
        "aliases": 0,
        "explorations": 3,
        "channels": 0,
        "alerts": 0,
        "boards": 0,
        "reports": 0,
        "error_statuses": 0,
        "path_groups": 0,
        "shields": 0,
    }


def test_the_file_and_the_printed_query_have_the_addresses_of_this_start(tmp_path: Path) -> None:
    first = Settings(data_dir=str(tmp_path / "first"))
    moved = Settings(
        data_dir=str(tmp_path / "moved"), host="::1", collect_port=5000, query_port=5001
    )
    first.data.mkdir()
    make_registry(first.registry_url)
    demo = create_demo(first)
    refresh_addresses(moved)  # no demo there: nothing to do
    first.data.rename(moved.data)

    refresh_addresses(moved)

    assert read_demo(moved.data) == structs.replace(
        demo, collect_url="http://[::1]:5000", query_url="http://[::1]:5001"
    )
    assert "curl -s -X POST 'http://[::1]:5001/v1/query?" in example_query(moved)


def test_a_demo_with_the_same_addresses_is_not_written_again(tmp_path: Path) -> None:
    settings = Settings(data_dir=str(tmp_path))
    make_registry(settings.registry_url)
    write_demo(tmp_path, create_demo(settings))
    before = (tmp_path / "demo.json").stat().st_ino

    refresh_addresses(settings)

    assert (tmp_path / "demo.json").stat().st_ino == before
