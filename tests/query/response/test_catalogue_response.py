"""Catalogues are sent once to each client, and anything else is kept by no cache."""

from collections.abc import Iterator

import pytest

from tests.asgi_client import request_once
from tests.query.query_service import InProcessService, start_service

CATALOGUES = ("/v1/query/types", "/v1/query/types?include_meta=true", "/v1/query/tables",
              "/v1/query/metrics")  # fmt: skip


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcessService]:
    running = start_service(tmp_path_factory.mktemp("service"))
    yield running
    running.close()


@pytest.mark.parametrize("path", CATALOGUES)
def test_a_client_that_has_it_is_told_so(service: InProcessService, path: str) -> None:
    first = request_once(service.app, "GET", path)
    known = {"if-none-match": first.headers["etag"]}
    again = request_once(service.app, "GET", path, headers=known)
    other = request_once(service.app, "GET", path, headers={"if-none-match": '"other"'})

    assert (first.status, first.headers["cache-control"]) == (200, "no-cache")
    assert (again.status, again.body) == (304, b"")
    assert (other.status, other.body) == (200, first.body)


def test_the_kinds_of_the_catalogue_differ(service: InProcessService) -> None:
    plain, whole = (request_once(service.app, "GET", path) for path in CATALOGUES[:2])

    assert "configs" not in plain.json
    assert set(whole.json["configs"]) == set(plain.json["types"])
    assert plain.headers["etag"] != whole.headers["etag"]


@pytest.mark.parametrize("path", ["/v1/me", "/v1/keys", "/v1/audit", "/v1/websites", "/status"])
def test_data_of_a_tenant_are_not_cached(service: InProcessService, path: str) -> None:
    assert service.ask("GET", path).headers["cache-control"] == "no-store"
    assert service.ask("GET", path, key=None).headers["cache-control"] == "no-store"
    assert service.query("summary").headers["cache-control"] == "no-store"
