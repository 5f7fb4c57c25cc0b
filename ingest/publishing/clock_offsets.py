"""ClockOffsets: how far the clock of a sender is ahead or behind, one offset for each request.

All timestamps of a request are moved by the same offset, so that order and intervals stay. A
request with items of several visitors or websites has none: their clocks may differ.
"""

from collections.abc import Iterable, Sequence

from schemas.event_times import MAX_AGE_MS, MAX_FUTURE_MS, has_unusual_time, instant_ms
from schemas.items import Item, Timestamp

MAX_SENDERS = 10_000
MAX_DELAY_MS = 3_600_000
"""How late a request may arrive whose sender's offset is taken from an earlier request."""


class ClockOffsets:
    """The offsets of requests; those of visitors without `sentAt` are remembered.

    Thus a request that arrives after a newer one of the same visitor stays before it.
    """

    def __init__(self) -> None:
        self._offsets: dict[tuple[str, str], int] = {}
        """By website and visitor, the last used last."""

    def of_request(
        self, items: Sequence[Item], received_ms: int, subject_id: str, trusted: bool
    ) -> int:
        """Milliseconds to add to the timestamps of a request.

        By `sentAt` where it is more than 5 minutes from receipt. Else, when the newest timestamp is
        further in the future than allowed, it is that of receipt; when all are too old, the oldest
        is the earliest that is allowed. 0 when they lie too far apart for that: some are wrong.

        Also 0 unless the items have one `anonymousId`, or none and a browser sent them.
        """
        if not has_unusual_time(items, received_ms):
            return 0
        senders = {(item.website_id or subject_id, item.anonymous_id or "") for item in items}
        sender = senders.pop()
        if senders or (trusted and not sender[1]):
            return 0
        sent_times = _instants(item.sent_at for item in items)
        if sent_times and abs(skew := received_ms - max(sent_times)) > MAX_FUTURE_MS:
            return int(skew)
        instants = _instants(item.timestamp for item in items)
        if not instants:
            return 0
        oldest, newest = min(instants), max(instants)
        if newest - oldest > MAX_AGE_MS:
            return 0
        if newest > received_ms + MAX_FUTURE_MS:
            return self._of_clock_ahead(newest, received_ms, sender)
        if newest < received_ms - MAX_AGE_MS:
            return int(received_ms - MAX_AGE_MS - oldest)
        return 0

    def _of_clock_ahead(self, newest: float, received_ms: int, sender: tuple[str, str]) -> int:
        if not sender[1]:
            return int(received_ms - newest)
        offset = self._offsets.pop(sender, None)
        if offset is None or not (
            received_ms - MAX_DELAY_MS <= newest + offset <= received_ms + MAX_FUTURE_MS
        ):
            offset = int(received_ms - newest)
        self._offsets[sender] = offset
        if len(self._offsets) > MAX_SENDERS:
            del self._offsets[next(iter(self._offsets))]
        return offset


def _instants(timestamps: Iterable[Timestamp]) -> list[int | float]:
    return [instant for each in timestamps if (instant := instant_ms(each)) is not None]
