"""Passwords match their own hash only, and weak ones are refused with the rule."""

import pytest

from schemas.registry.passwords import (
    DECOY_HASH,
    hash_password,
    needs_rehash,
    password_matches,
    password_problem,
)

SCRYPT_HASH = (
    "scrypt$000102030405060708090a0b0c0d0e0f$"
    "25b376840366f4d3b0e21e414476676e3cd0e89af4430356a234ce0b65a021b5"
    "6233e7b0b24f07bc9340195f19c90a1da7562514ed0762a6dae3c27ff5b07d62"
)
"""Of `correct horse`, as releases until 0.6 made it."""


def test_a_password_matches_its_hash() -> None:
    hashed = hash_password("correct horse")

    assert hashed.startswith("$argon2id$")
    assert password_matches("correct horse", hashed)
    assert "correct" not in hashed
    for other in ("correct horse ", "Correct horse", "", "correct horse\0"):
        assert not password_matches(other, hashed)
    assert hash_password("correct horse") != hashed


def test_a_hash_of_an_older_release_is_verified_until_it_is_made_again() -> None:
    assert password_matches("correct horse", SCRYPT_HASH)
    for other in ("correct horse ", "Correct horse", "", "correct horse\0"):
        assert not password_matches(other, SCRYPT_HASH)
    assert needs_rehash(SCRYPT_HASH)
    assert not needs_rehash(hash_password("correct horse"))


def test_an_accent_matches_however_it_is_composed() -> None:
    assert password_matches("cafe\u0301 creme", hash_password("caf\u00e9 creme"))


def test_the_decoy_costs_as_much_as_a_new_hash() -> None:
    assert not needs_rehash(DECOY_HASH)
    assert not password_matches("correct horse", DECOY_HASH)


@pytest.mark.parametrize(
    ("password", "problem"),
    [
        ("correct horse", None),
        ("short pass", None),
        ("too short", "must have 10 to 200 characters"),
        ("ab" * 100, None),
        ("ab" * 100 + "c", "must have 10 to 200 characters"),
        ("zzzzzzzzzz", "must not be one repeated character"),
        ("Password123", "is one of the most common passwords; choose another"),
        ("my dog is Marlene", "must not contain the name of the e-mail address"),
        ("MARLENE@shop.example", "must not contain the name of the e-mail address"),
    ],
)
def test_a_weak_password_breaks_a_rule(password: str, problem: str | None) -> None:
    assert password_problem(password, "marlene@shop.example") == problem


def test_a_short_name_may_be_in_a_password() -> None:
    assert password_problem("correct horse", "or@shop.example") is None
    assert password_problem("correct horse") is None
