"""What became of received items: stored, a bot's, duplicate, quarantined; from their receipts."""

import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from query.client import Client, ServiceError, TransferError

DebugLine = Mapping[str, Any]
Outcome = Mapping[str, Any]
"""`state`, and `reason` or `bot` where there is one, as the receipt has them."""

ACCEPTED, STORED = "accepted", "stored"
PENDING = ("pending", "spooled")
"""States of items that may still become another's."""
MAX_WAITING_RECEIPTS = 50
LOOKUP_INTERVAL_SECONDS = 1.0
"""Between two lookups, so that they take half of the smallest plan's queries at most."""
MAX_LOOKUPS = 30
"""Of one receipt whose items are not stored yet."""


def look_up(client: Client, receipt: str) -> dict[int, Outcome]:
    """The outcome of each item of a request, by its index."""
    items: Sequence[dict[str, Any]] = client.receipt(receipt, bots=True)["items"]
    return {item.pop("index"): item for item in items}


def with_outcomes(client: Client, lines: Sequence[DebugLine]) -> list[dict[str, Any]]:
    """The lines; those of accepted items have an `outcome`."""
    receipts = dict.fromkeys(line["receipt"] for line in lines if "item" in line)
    outcomes = {receipt: look_up(client, receipt) for receipt in receipts}
    return [
        {**line, "outcome": outcomes[line["receipt"]][line["index"]]}
        if "item" in line
        else {**line}
        for line in lines
    ]


def outcome_word(outcome: Outcome) -> str:
    """One word for the outcome; `accepted` while nothing more is known."""
    if "bot" in outcome:
        return "bot"
    return ACCEPTED if outcome["state"] in (*PENDING, "unknown") else str(outcome["state"])


def outcome_reason(outcome: Outcome) -> str:
    """Why it is a bot's, a duplicate or quarantined; empty without a reason."""
    return str(outcome.get("bot", outcome.get("reason", "")))


class OutcomeFollower:
    """Looks up the items of a stream once they are stored, in a thread of its own.

    `show` is called with each line that has more to say than that it is stored, `warn` once when
    receipts cannot be looked up. Of more requests than can be looked up the newest are.
    """

    def __init__(
        self,
        client: Client,
        show: Callable[[dict[str, Any]], None],
        warn: Callable[[str], None],
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._client, self._show, self._warn, self._sleep = client, show, warn, sleep
        self._waiting: queue.Queue[list[DebugLine]] = queue.Queue(MAX_WAITING_RECEIPTS)
        self._newest: list[DebugLine] = []

    def start(self) -> None:
        """Begin to look up; the thread ends with the process."""
        threading.Thread(target=self.run, daemon=True, name="outcomes").start()

    def add(self, line: DebugLine) -> None:
        """Add the next line of the stream; the lines of a request follow each other."""
        if "item" not in line:
            return
        if self._newest and self._newest[0]["receipt"] == line["receipt"]:
            self._newest.append(line)
            return
        self._newest = [line]
        if self._waiting.full():
            self._waiting.get_nowait()
        self._waiting.put_nowait(self._newest)

    def run(self) -> None:
        """Look up one request after the other, until that fails."""
        try:
            while True:
                self._follow(self._waiting.get())
        except (ServiceError, TransferError) as error:
            self._warn(f"what becomes of the items is not shown: {error}")

    def _follow(self, lines: list[DebugLine]) -> None:
        for _ in range(MAX_LOOKUPS):
            self._sleep(LOOKUP_INTERVAL_SECONDS)
            outcomes = look_up(self._client, lines[0]["receipt"])
            if all(outcome["state"] not in PENDING for outcome in outcomes.values()):
                break
        for line in lines:
            outcome = outcomes[line["index"]]
            if outcome_word(outcome) not in (ACCEPTED, STORED):
                self._show({**line, "outcome": outcome})
