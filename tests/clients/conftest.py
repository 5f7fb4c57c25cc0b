"""Fixture: a browser."""

from collections.abc import Iterator

import pytest

from tests.browser.chromium import Chromium
from tests.browser.conftest import USUAL_FLAGS


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """A browser as visitors have it."""
    with Chromium(tmp_path_factory.mktemp("chromium"), *USUAL_FLAGS) as chromium:
        yield chromium
