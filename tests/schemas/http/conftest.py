"""Both services, started once."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import pytest

from tests.installation import eventually
from tests.schemas.http.services import STALLED_SECONDS, RunningService, collector, query


@pytest.fixture(scope="session")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, RunningService]]:
    """By name."""
    folder: Path = tmp_path_factory.mktemp("http")
    with ExitStack() as stack, ThreadPoolExecutor() as starting:

        def start(begin: Callable[..., AbstractContextManager[RunningService]]) -> RunningService:
            settings = {"stalled_seconds": STALLED_SECONDS}
            return stack.enter_context(begin(folder / begin.__name__, **settings))

        yield {one.name: one for one in starting.map(start, (collector, query))}


@pytest.fixture(params=["collector", "query"])
def service(
    request: pytest.FixtureRequest, services: dict[str, RunningService]
) -> Iterator[RunningService]:
    """Each HTTP service; after each test the next request of another client succeeds."""
    one = services[request.param]
    yield one
    with one.connect() as connection:
        connection.sendall(one.good("Connection: close\r\n"))
        assert b" 200 " in connection.recv(65_536)[:20]
    eventually(lambda: one.call().status == 200)
