"""EndOffsets: until when a table has everything of a topic partition, by its end offsets over time.

Messages that were in Kafka at an instant lie before its end offset of that instant. So a table
whose next offset is not below it has everything that was acknowledged until then: no message is
read, and the clocks of other machines do not matter.
"""

from collections import deque

MAX_SAMPLES = 240
"""End offsets that are kept for one partition; of older ones every second is dropped beyond it."""


class EndOffsets:
    """Samples of the end offsets of one topic partition."""

    def __init__(self) -> None:
        self._samples: deque[tuple[int, int]] = deque()
        """Instant and end offset, ascending in both; the last instant at which it was the end."""

    def add(self, at_ms: int, end: int) -> None:
        """Record the end offset as of an instant."""
        if self._samples and self._samples[-1][1] > end:
            self._samples.clear()  # the topic was created anew
        if self._samples and self._samples[-1][1] == end:
            self._samples.pop()
        self._samples.append((at_ms, end))
        if len(self._samples) > MAX_SAMPLES:
            samples = list(self._samples)
            self._samples = deque([*samples[:-2:2], *samples[-2:]])

    def stored_until(self, next_offset: int) -> int | None:
        """The last instant of which everything is stored; None when it was before all samples.

        Earlier samples are dropped: the next offset of a table never falls.
        """
        while len(self._samples) > 1 and self._samples[1][1] <= next_offset:
            self._samples.popleft()
        if not self._samples or self._samples[0][1] > next_offset:
            return None
        return self._samples[0][0]
