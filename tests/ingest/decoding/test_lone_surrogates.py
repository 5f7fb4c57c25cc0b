"""Halves of characters in JSON are replaced; everything else stays as it was sent."""

import json

from hypothesis import given
from hypothesis import strategies as st

from ingest.decoding.lone_surrogates import replace_lone_surrogates

texts = st.text(st.characters() | st.characters(categories=["Cs"]))


def test_halves_are_replaced_and_pairs_are_not() -> None:
    assert replace_lone_surrogates(rb'"\ud83d"') == rb'"\ufffd"'
    assert replace_lone_surrogates(rb'"\uDE00x\uD83D\n"') == rb'"\ufffdx\ufffd\n"'
    assert replace_lone_surrogates(rb'"\ud83d\uDE00"') == rb'"\ud83d\uDE00"'
    assert replace_lone_surrogates(rb'"\ud83d\ud83d\ude00"') == rb'"\ufffd\ud83d\ude00"'


def test_an_escaped_backslash_begins_no_escape() -> None:
    assert replace_lone_surrogates(rb'"\\ud83d"') == rb'"\\ud83d"'
    assert replace_lone_surrogates(rb'"\\\ud83d"') == rb'"\\\ufffd"'


@given(texts)
def test_it_is_what_a_decoder_that_replaces_gives(text: str) -> None:
    expected = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert json.loads(replace_lone_surrogates(json.dumps(text).encode())) == expected


@given(st.binary())
def test_bytes_that_are_no_json_keep_their_length(body: bytes) -> None:
    assert len(replace_lone_surrogates(body)) == len(body)
