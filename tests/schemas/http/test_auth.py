"""The API key of a request."""

import pytest

from schemas.http.auth import read_api_key


@pytest.mark.parametrize(
    ("headers", "text"),
    [
        ({"x-api-key": "tm_a_b"}, "tm_a_b"),
        ({"authorization": "Bearer tm_a_b"}, "tm_a_b"),
        ({"authorization": "bearer  tm_a_b "}, "tm_a_b"),
        ({"authorization": "Basic dXNlcg=="}, None),
        ({"authorization": "Bearer"}, None),
        ({}, None),
    ],
)
def test_a_key_is_found_in_either_header(headers: dict[str, str], text: str | None) -> None:
    assert read_api_key(headers.get) == text
