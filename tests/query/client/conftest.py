"""Fixture: clients of services that answer as scripts say."""

from collections.abc import Iterator

import pytest

from tests.query.client.scripted_service import Playing, scripted_services


@pytest.fixture
def playing() -> Iterator[Playing]:
    with scripted_services() as play:
        yield play
