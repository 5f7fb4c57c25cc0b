"""Receipts: what is written can be read again, and nothing else can."""

import pytest
from msgspec.structs import replace

from schemas.receipts import FORMAT, NoReceipt, Receipt, ReceiptKey, unverified

KEY = ReceiptKey("5e" * 32)

ONE = Receipt(FORMAT, "events", 1, 3, 123_456, 17, 2, 1_795_000_000_000, "web_1")


@pytest.mark.parametrize(
    "receipt",
    [
        ONE,
        replace(ONE, places=[4, 0]),
        replace(ONE, topic_id="ZQy3wgsdTWyb_aJYoh-MdA"),
        replace(ONE, offset=-1),
        replace(ONE, offset=2**62, count=500, places=list(range(500, 0, -1))),
        replace(
            ONE,
            count=3_000,
            owner="w" * 255,
            places=[place for place in range(500) for _ in "FLCITF"],
        ),
    ],
)
def test_a_receipt_is_read_as_it_was_written(receipt: Receipt) -> None:
    text = KEY.written(receipt)

    assert KEY.read(text) == unverified(text) == receipt
    assert set(text) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


def test_a_usual_receipt_is_short() -> None:
    usual = replace(ONE, owner="web_abcdefghijkl", topic_id="ZQy3wgsdTWyb_aJYoh-MdA")
    assert len(KEY.written(usual)) == 102


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "a" * 17_000,
        "ünlesbar",
        "../../etc",
        KEY.written(ONE)[:-1],
        KEY.written(ONE) + "A",
        "A" + KEY.written(ONE)[1:],
        KEY.written(replace(ONE, format=3)),
        KEY.written(replace(ONE, count=10**9)),
        KEY.written(replace(ONE, count=0)),
        KEY.written(replace(ONE, offset=-2)),
        KEY.written(replace(ONE, offset=2**63)),
        KEY.written(replace(ONE, partition=-1)),
        KEY.written(replace(ONE, first=2**62)),
        KEY.written(replace(ONE, received_ms=2**62)),
        KEY.written(replace(ONE, places=[0] * 5_000)),
        KEY.written(replace(ONE, places=[-1])),
    ],
)
def test_what_is_no_whole_receipt_is_refused(text: str) -> None:
    with pytest.raises(NoReceipt):
        KEY.read(text)


def test_only_who_has_the_secret_can_write_a_receipt() -> None:
    text = KEY.written(ONE)

    assert ReceiptKey("5e" * 32).read(text) == ONE
    for other in ("5f" * 32, "", ""):  # without a secret each draws one of its own
        with pytest.raises(NoReceipt):
            ReceiptKey(other).read(text)
        with pytest.raises(NoReceipt):
            ReceiptKey("").read(ReceiptKey(other).written(ONE))
