"""Receipts are decoded as encoded; forged and damaged ones are rejected."""

import pytest
from msgspec.structs import replace

from schemas.receipts import RECEIPT_FORMAT, InvalidReceipt, Receipt, ReceiptKey, unverified

KEY = ReceiptKey("5e" * 32)

ONE = Receipt(RECEIPT_FORMAT, "events", 1, 3, 123_456, 17, 2, 1_795_000_000_000, "web_1")


@pytest.mark.parametrize(
    "receipt",
    [
        ONE,
        replace(ONE, indexes=[4, 0]),
        replace(ONE, topic_id="ZQy3wgsdTWyb_aJYoh-MdA"),
        replace(ONE, offset=-1),
        replace(ONE, offset=2**62, count=500, indexes=list(range(500, 0, -1))),
        replace(
            ONE,
            count=3_000,
            owner_id="w" * 255,
            indexes=[place for place in range(500) for _ in "FLCITF"],
        ),
    ],
)
def test_a_receipt_is_decoded_as_it_was_encoded(receipt: Receipt) -> None:
    text = KEY.sign(receipt)

    assert KEY.verify(text) == unverified(text) == receipt
    assert set(text) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


def test_a_usual_receipt_is_short() -> None:
    usual = replace(ONE, owner_id="web_abcdefghijkl", topic_id="ZQy3wgsdTWyb_aJYoh-MdA")
    assert len(KEY.sign(usual)) == 104


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "a" * 17_000,
        "ünlesbar",
        "../../etc",
        KEY.sign(ONE)[:-1],
        KEY.sign(ONE) + "A",
        "A" + KEY.sign(ONE)[1:],
        KEY.sign(replace(ONE, format=3)),
        KEY.sign(replace(ONE, count=10**9)),
        KEY.sign(replace(ONE, count=0)),
        KEY.sign(replace(ONE, offset=-2)),
        KEY.sign(replace(ONE, offset=2**63)),
        KEY.sign(replace(ONE, partition=-1)),
        KEY.sign(replace(ONE, first_position=2**62)),
        KEY.sign(replace(ONE, received_ms=2**62)),
        KEY.sign(replace(ONE, indexes=[0] * 5_000)),
        KEY.sign(replace(ONE, indexes=[-1])),
    ],
)
def test_text_that_is_no_complete_receipt_is_rejected(text: str) -> None:
    with pytest.raises(InvalidReceipt):
        KEY.verify(text)


@pytest.mark.parametrize("owner_id", ["w", "we", "web"], ids=["one byte", "two", "none over"])
def test_no_other_text_is_the_same_receipt(owner_id: str) -> None:
    """The last character of base64 may have bits that belong to no byte."""
    text = KEY.sign(replace(ONE, owner_id=owner_id))
    characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

    for last in set(characters) - {text[-1]}:
        with pytest.raises(InvalidReceipt):
            KEY.verify(text[:-1] + last)


def test_only_the_secret_signs_receipts() -> None:
    text = KEY.sign(ONE)

    assert ReceiptKey("5e" * 32).verify(text) == ONE
    for other in ("5f" * 32, "", ""):  # without a secret each draws one of its own
        with pytest.raises(InvalidReceipt):
            ReceiptKey(other).verify(text)
        with pytest.raises(InvalidReceipt):
            ReceiptKey("").verify(ReceiptKey(other).sign(ONE))
