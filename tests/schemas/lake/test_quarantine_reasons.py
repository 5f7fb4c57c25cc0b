"""What would mend the items of a reason."""

import pytest

from schemas.lake.quarantine_reasons import remedy


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (
            "Expected `int | float | str | null`, got `bool` - at `$.timestamp`",
            "'timestamp = number'",
        ),
        ("Expected `str`, got `int` - at `$.name`", "--set 'name = text'"),
        ("Expected `bool`, got `str` - at `$.a.b`", "--set 'a.b = boolean'"),
        ("Expected `object`, got `str` - at `$.properties`", "--set 'properties = …'"),
        ("Object missing required field `name`", "--set 'name = …'"),
        ("not a chunk: MessagePack data is malformed", "who else writes to the topic"),
        ("chunk of format 2; this worker reads 1", "run workers of the collectors' version"),
    ],
)
def test_the_reason_of_an_item_that_cannot_be_decoded_tells_what_mends_it(
    reason: str, words: str
) -> None:
    assert words in remedy("decode", reason)


def test_other_stages_have_one_remedy_each() -> None:
    assert "upgrade" in remedy("enrich", "ValueError: no such zone")
    assert "nothing to do" in remedy("duplicate", "same eventId as an item received before")
    assert "TIDEMARK_RETENTION_HOURS" in remedy("lost", "messages 0 to 7")
    assert remedy("unknown", "") == ""
