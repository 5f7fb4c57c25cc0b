"""Every response names its request; a sender or proxy may choose the id."""

from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.schemas.http.services import RunningService, collector, query


@pytest.fixture(params=["collector", "query"], scope="module")
def service(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningService]:
    folder: Path = tmp_path_factory.mktemp(request.param)
    with {"collector": collector, "query": query}[request.param](folder) as service:
        yield service


def returned_id(service: RunningService, path: str, sent: str | None) -> str | None:
    connection = HTTPConnection("127.0.0.1", service.port, timeout=60)
    request, *lines = service.head.splitlines()
    headers = dict(line.split(": ", 1) for line in lines)
    if sent is not None:
        headers["X-Request-Id"] = sent
    connection.request("POST", path or request.split()[1], service.body, headers)
    response = connection.getresponse()
    response.read()
    connection.close()
    return response.getheader("x-request-id")


@pytest.mark.parametrize("path", ["", "/no-such-route"])
def test_the_id_of_the_sender_is_returned(service: RunningService, path: str) -> None:
    assert returned_id(service, path, "trace-7:2") == "trace-7:2"


def test_each_request_without_one_gets_its_own(service: RunningService) -> None:
    first, second = (returned_id(service, "", None) for _ in range(2))

    assert first
    assert second
    assert first != second


def test_an_invalid_id_is_replaced(service: RunningService) -> None:
    assert returned_id(service, "", "two words") not in (None, "two words")
