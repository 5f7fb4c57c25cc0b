"""A lake in an object store, whose requests are counted."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.s3.request_counter import RequestCounter
from tests.s3.server import S3Server


@pytest.fixture
def counter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RequestCounter]:
    with S3Server(tmp_path / "s3") as server, RequestCounter(server.port) as counter:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("AWS_ENDPOINT_URL", counter.endpoint)
        yield counter
