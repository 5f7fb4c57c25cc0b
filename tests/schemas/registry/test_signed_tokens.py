"""Signed tokens: what is changed, of another kind or past is no token."""

from itertools import pairwise

import pytest

from schemas.registry.signed_tokens import SignedToken, TokenKind, new_token, sign, verify

SECRET = b"a secret of 32 bytes, or as many"
TOKEN = SignedToken(TokenKind.SESSION, "abc", "key", 1000)
TEXT = sign(TOKEN, SECRET)


def test_a_token_is_read_until_its_end() -> None:
    assert verify(TEXT, TokenKind.SESSION, SECRET, 999) == TOKEN
    assert verify(TEXT, TokenKind.SESSION, SECRET, 1000) is None


def test_each_token_has_an_id_of_its_own() -> None:
    ids = [new_token(TokenKind.SHARE, "share", 1).id for _ in range(3)]

    assert all(one != other for one, other in pairwise(ids))


def test_a_token_is_of_one_kind_and_one_secret() -> None:
    assert verify(TEXT, TokenKind.SIGN_IN_LINK, SECRET, 0) is None
    assert verify(TEXT, TokenKind.SESSION, SECRET[::-1], 0) is None


@pytest.mark.parametrize("position", range(len(TEXT)))
def test_no_character_can_be_changed(position: int) -> None:
    other = "1" if TEXT[position] != "1" else "2"
    changed = TEXT[:position] + other + TEXT[position + 1 :]

    assert verify(changed, TokenKind.SESSION, SECRET, 0) is None


@pytest.mark.parametrize("text", ["", ".", "a.b.c.d.e", TEXT + "0", " " + TEXT, TEXT * 3, "é" * 64])
def test_other_texts_are_no_tokens(text: str) -> None:
    assert verify(text, TokenKind.SESSION, SECRET, 0) is None
