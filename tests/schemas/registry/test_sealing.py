"""A sealed text is read with its secret and for its purpose only."""

import pytest

from schemas.registry.sealing import InvalidSealedText, seal, unseal

SECRET, OTHER_SECRET = bytes(32), bytes(31) + b"\1"


def test_a_sealed_text_is_read_again() -> None:
    sealed = seal("GEZDGNBVÄ", SECRET, "second factor")

    assert unseal(sealed, SECRET, "second factor") == "GEZDGNBVÄ"
    assert "GEZD" not in sealed
    assert seal("GEZDGNBVÄ", SECRET, "second factor") != sealed


def test_a_sealed_text_of_another_secret_or_purpose_is_not_read() -> None:
    sealed = seal("GEZDGNBV", SECRET, "second factor")

    for secret, purpose in ((OTHER_SECRET, "second factor"), (SECRET, "sign-in state")):
        with pytest.raises(InvalidSealedText, match="cannot be read for the purpose"):
            unseal(sealed, secret, purpose)


@pytest.mark.parametrize("position", [0, 20, 60, -9])
def test_a_changed_text_is_not_read(position: int) -> None:
    sealed = seal("GEZDGNBV", SECRET, "second factor")
    other = "A" if sealed[position] != "A" else "B"
    changed = sealed[:position] + other + sealed[position:][1:]

    with pytest.raises(InvalidSealedText):
        unseal(changed, SECRET, "second factor")


@pytest.mark.parametrize("text", ["", "no token", "Ä", "gAAAA"])
def test_a_text_that_was_never_sealed_is_not_read(text: str) -> None:
    with pytest.raises(InvalidSealedText):
        unseal(text, SECRET, "second factor")
