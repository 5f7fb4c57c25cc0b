"""Passwords match their own hash only."""

from schemas.registry.passwords import hash_password, password_matches


def test_a_password_matches_its_hash() -> None:
    hashed = hash_password("correct horse")

    assert password_matches("correct horse", hashed)
    assert "correct" not in hashed
    for other in ("correct horse ", "Correct horse", "", "correct horse\0"):
        assert not password_matches(other, hashed)
    assert hash_password("correct horse") != hashed
