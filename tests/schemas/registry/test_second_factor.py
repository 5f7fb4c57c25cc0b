"""Codes of an app are those of RFC 6238, and a recovery code is used once."""

import base64
import re
from urllib.parse import unquote

import pytest

from schemas.registry.second_factor import (
    enrolment_uri,
    matching_step,
    new_recovery_codes,
    new_secret,
    qr_svg,
    use_recovery_code,
)

RFC_SECRET = base64.b32encode(b"12345678901234567890").decode()


@pytest.mark.parametrize(
    ("second", "code"),
    [
        (59, "287082"),
        (1_111_111_109, "081804"),
        (1_111_111_111, "050471"),
        (1_234_567_890, "005924"),
        (2_000_000_000, "279037"),
        (20_000_000_000, "353130"),
    ],
)
def test_a_code_is_that_of_the_standard(second: int, code: str) -> None:
    """The last six digits of the examples in appendix B."""
    assert matching_step(RFC_SECRET, code, second * 1000) == second // 30


def test_a_code_is_taken_one_step_early_or_late() -> None:
    code, step = "005924", 1_234_567_890 // 30
    start_ms, end_ms = step * 30_000, (step + 1) * 30_000

    assert matching_step(RFC_SECRET, code, start_ms - 30_000) == step
    assert matching_step(RFC_SECRET, code, end_ms + 29_999) == step
    assert matching_step(RFC_SECRET, code, start_ms - 30_001) is None
    assert matching_step(RFC_SECRET, code, end_ms + 30_000) is None


@pytest.mark.parametrize("code", ["005925", "", "5924", "0059240", "٠٠٥٩٢٤", "abcdef", "\ud800"])
def test_another_code_matches_no_step(code: str) -> None:
    assert matching_step(RFC_SECRET, code, 1_234_567_890_000) is None


def test_no_code_is_that_of_an_empty_secret() -> None:
    assert matching_step("", "005924", 1_234_567_890_000) is None


def test_a_code_may_be_typed_in_groups() -> None:
    assert matching_step(RFC_SECRET, " 005 924", 1_234_567_890_000) == 41_152_263


def test_an_app_learns_secret_account_and_issuer() -> None:
    uri = enrolment_uri(RFC_SECRET, "ann+stats@shop.example")

    assert uri == (
        "otpauth://totp/Tidemark:ann%2Bstats%40shop.example"
        "?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Tidemark"
    )
    assert unquote(qr_svg(uri)).startswith("data:image/svg+xml;charset=utf-8,<svg xmlns=")


def test_secrets_have_160_bits() -> None:
    secret = new_secret()

    assert len(base64.b32decode(secret)) == 20
    assert new_secret() != secret


def test_a_recovery_code_is_used_once() -> None:
    codes, hashes = new_recovery_codes()

    assert len(set(codes)) == len(set(hashes)) == 10
    assert all(re.fullmatch(r"[a-z2-7]{4}(-[a-z2-7]{4}){3}", code) for code in codes)
    remaining = use_recovery_code(hashes, codes[3])
    assert remaining == hashes[:3] + hashes[4:]
    assert use_recovery_code(remaining, codes[3]) is None


def test_a_recovery_code_is_taken_however_it_is_typed() -> None:
    codes, hashes = new_recovery_codes()

    for typed in (codes[0].upper(), codes[0].replace("-", ""), f" {codes[0].replace('-', ' ')}\n"):
        assert use_recovery_code(hashes, typed) == hashes[1:]
    for typed in ("", codes[0][:-1], "abcd-efgh-ijkl-mnop"):
        assert use_recovery_code(hashes, typed) is None
