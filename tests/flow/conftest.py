"""One running Tidemark for all tests of this folder."""

from collections.abc import Iterator

import pytest

from tests.flow.tenant import Tenant
from tests.running import Stack, format_storage


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    folder = tmp_path_factory.mktemp("flow")
    format_storage(folder / "kafka")
    with Stack(folder, batch_seconds=0.3, compact_seconds=2.0) as stack:
        yield stack


@pytest.fixture
def tenant(stack: Stack) -> Tenant:
    """A tenant that nobody else has sent anything for."""
    return Tenant.made(stack)
