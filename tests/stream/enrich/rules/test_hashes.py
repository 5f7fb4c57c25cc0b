"""Hashes of ids are numbers of 63 bits."""

from hashlib import blake2b

from stream.enrich.rules.hashes import digests, optional_hash63
from tests.stream.enrich.enriched_rows import facts


def test_ids_are_hashed_to_signed_numbers_of_63_bits() -> None:
    # BLAKE2b of "a" with 8 bytes is 40f89e395b66422f
    assert facts({"name": "x", "anonymousId": "a"}, "visitor_hash", "session_hash") == (
        0x40F89E395B66422F >> 1,
        None,
    )
    assert all(0 <= (optional_hash63(str(n)) or 0) < 2**63 for n in range(1000))


def test_digests_of_many_texts_are_those_of_each() -> None:
    texts = ["a", "", "ä", "a" * 300, "a"]

    assert digests(texts) == [blake2b(text.encode(), digest_size=8).digest() for text in texts]
    assert int.from_bytes(digests(["a"])[0]) >> 1 == optional_hash63("a")
