"""The address of a coordinator."""

import pytest

from query.engine.trino.address import TrinoAddress, parse_address


def test_an_address_names_the_user_and_the_schema() -> None:
    assert parse_address("trino://ana@engine/lake.tidemark") == TrinoAddress(
        "http://engine:8080", "ana", "lake", "tidemark"
    )
    assert parse_address("trinos://ana:se%40cret@engine:9443/lake.tidemark") == TrinoAddress(
        "https://engine:9443", "ana", "lake", "tidemark", "se@cret"
    )


def test_the_password_is_never_shown() -> None:
    shown = str(parse_address("trinos://ana:secret@engine/lake.tidemark"))

    assert shown == "https://engine:8443 (lake.tidemark)"


@pytest.mark.parametrize(
    "text",
    [
        "http://ana@engine/lake.tidemark",
        "trino://engine/lake.tidemark",
        "trino://ana@engine/lake",
        "trino://ana@/lake.tidemark",
        "trino://ana:secret@engine/lake.tidemark",
    ],
)
def test_a_wrong_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"must be trino://|needs HTTPS"):
        parse_address(text)
