"""The demo has an example of each saved record."""

from pathlib import Path

from deploy.demo.tenant import create_demo
from schemas.registry import SAVED_RECORDS, RegistryStore
from schemas.registry.migrate import migrate
from schemas.runtime.settings import Settings


def test_the_demo_has_saved_records(tmp_path: Path) -> None:
    settings = Settings(data_dir=str(tmp_path))
    migrate(settings.registry_url)

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
    }
