"""A registry with the website that imports go to."""

from pathlib import Path

import pytest

from schemas.registry import Organization, RegistryStore
from schemas.runtime.settings import Settings
from tests.deploy.importer.builders import STAMPS, WEBSITE
from tests.registries import make_registry


@pytest.fixture
def store(tmp_path: Path) -> RegistryStore:
    url = Settings(data_dir=str(tmp_path)).registry_url
    make_registry(url)
    store = RegistryStore(url)
    store.create(Organization(id="o1", name="Acme", **STAMPS))
    store.create(WEBSITE)
    return store
