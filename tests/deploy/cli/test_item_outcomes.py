"""What became of items: looked up once they are stored, and shown where there is more to say."""

from typing import Any

import pytest

from deploy.cli.item_outcomes import MAX_LOOKUPS, OutcomeFollower, outcome_reason, outcome_word
from deploy.cli.item_outcomes import with_outcomes as shown_with_outcomes
from query.client import Client, TransferError


class Receipts(Client):
    """A client whose receipts are given: the responses to one lookup after the other."""

    def __init__(self, *responses: list[dict[str, Any]] | Exception) -> None:
        super().__init__("http://unused.example")
        object.__setattr__(self, "responses", list(responses))
        object.__setattr__(self, "asked", [])

    def receipt(self, receipt: str, bots: bool = False) -> dict[str, Any]:
        assert bots
        self.__dict__["asked"].append(receipt)
        response = self.__dict__["responses"].pop(0)
        if isinstance(response, Exception):
            raise response
        return {"items": response}


def a_line(receipt: str, index: int) -> dict[str, Any]:
    return {"receipt": receipt, "index": index, "item": {"name": "a"}}


PENDING = [{"index": 0, "state": "pending"}, {"index": 1, "state": "pending"}]
READ = [{"index": 0, "state": "stored"}, {"index": 1, "state": "duplicate", "reason": "of e1"}]


@pytest.mark.parametrize(
    ("outcome", "word", "reason"),
    [
        ({"state": "stored"}, "stored", ""),
        ({"state": "stored", "bot": "crawler: X"}, "bot", "crawler: X"),
        ({"state": "pending"}, "accepted", ""),
        ({"state": "quarantined", "reason": "no"}, "quarantined", "no"),
    ],
)
def test_an_outcome_in_words(outcome: dict[str, str], word: str, reason: str) -> None:
    assert (outcome_word(outcome), outcome_reason(outcome)) == (word, reason)


def test_each_receipt_is_looked_up_once() -> None:
    client = Receipts([dict(item) for item in READ])
    lines = [a_line("r1", 0), {"accepted": False, "path": "/track"}, a_line("r1", 1)]

    shown = shown_with_outcomes(client, lines)

    assert [line.get("outcome", {}).get("state") for line in shown] == [
        "stored",
        None,
        "duplicate",
    ]
    assert client.__dict__["asked"] == ["r1"]


def followed(client: Client, *lines: dict[str, Any]) -> tuple[list[dict[str, Any]], list[str]]:
    """What is shown and warned of until a lookup fails."""
    shown: list[dict[str, Any]] = []
    warned: list[str] = []
    follower = OutcomeFollower(client, shown.append, warned.append, sleep=lambda _: None)
    for line in lines:
        follower.add(line)
    follower.run()
    return shown, warned


def test_only_what_is_more_than_stored_is_shown_again() -> None:
    responses = [[dict(item) for item in each] for each in (PENDING, READ)]
    client = Receipts(*responses, TransferError("gone"))

    shown, warned = followed(
        client, a_line("r1", 0), a_line("r1", 1), {"accepted": False}, a_line("r2", 0)
    )

    assert shown == [{**a_line("r1", 1), "outcome": {"state": "duplicate", "reason": "of e1"}}]
    assert client.__dict__["asked"] == ["r1", "r1", "r2"]
    assert warned == ["what becomes of the items is not shown: gone"]


def test_an_item_that_is_never_stored_does_not_hold_up_others() -> None:
    pending = [[dict(item) for item in PENDING] for _ in range(MAX_LOOKUPS)]
    client = Receipts(*pending, [dict(item) for item in READ], TransferError("gone"))

    shown, _ = followed(client, a_line("r1", 0), a_line("r2", 1), a_line("r3", 0))

    assert [line["receipt"] for line in shown] == ["r2"]
