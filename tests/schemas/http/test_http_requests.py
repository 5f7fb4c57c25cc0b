"""Requests are counted by route and status, and routes are few."""

from prometheus_client import CollectorRegistry, generate_latest

from schemas.http.http_requests import OTHER_ROUTE, HttpRequests, routes

ROUTES = routes(("/track", "/v1/links/{link_id}", "/v1/links/{link_id}/qr"), ("/l/",))


def test_a_path_has_one_of_few_routes() -> None:
    paths = ("/track", "/v1/links/abc", "/v1/links/abc/qr", "/l/spring", "/v1/links/a/b", "/nope")

    assert [ROUTES(path) for path in paths] == [
        "/track",
        "/v1/links/{link_id}",
        "/v1/links/{link_id}/qr",
        "/l/",
        OTHER_ROUTE,
        OTHER_ROUTE,
    ]


def test_durations_are_a_histogram() -> None:
    requests = HttpRequests(ROUTES)
    for seconds in (0.001, 0.0015, 0.3, 60.0):
        requests.observe("/track", 200, seconds)
    requests.observe("/wp-login.php", 404, 0.001)
    registry = CollectorRegistry()
    registry.register(requests)

    lines = generate_latest(registry).decode().splitlines()

    labels = 'route="/track",status="200"'
    name = "tidemark_http_request_seconds"
    assert f'{name}_bucket{{le="0.001",{labels}}} 1.0' in lines
    assert f'{name}_bucket{{le="0.002",{labels}}} 2.0' in lines
    assert f'{name}_bucket{{le="0.5",{labels}}} 3.0' in lines
    assert f'{name}_bucket{{le="+Inf",{labels}}} 4.0' in lines
    assert f"{name}_count{{{labels}}} 4.0" in lines
    assert f'{name}_count{{route="other",status="404"}} 1.0' in lines
