"""The sentence that tells how a POST route is called."""

from schemas.http.openapi import Operation, Response, usage_by_path


def operation(method: str, path: str, *schemes: str) -> Operation:
    return Operation(
        method=method,
        path=path,
        operation_id=path,
        tag="Test",
        summary="",
        responses=(Response(200, ""),),
        errors=(),
        security=tuple({scheme: ()} for scheme in schemes),
    )


def test_only_paths_without_get_are_explained() -> None:
    usage = usage_by_path(
        [operation("POST", "/a"), operation("POST", "/b"), operation("GET", "/b")]
    )

    assert usage == {
        "/a": "with a JSON body (header `content-type: application/json`); `GET /docs` describes it"
    }


def test_the_usual_credentials_are_named() -> None:
    [usage] = usage_by_path([operation("POST", "/a", "website", "client", "key")]).values()

    assert "and an API key (header `x-api-key`) or `?website_id=`;" in usage
