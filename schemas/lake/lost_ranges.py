"""Lost ranges: offsets whose messages Kafka deleted before a worker read them.

The quarantine has one row of stage `lost` for each, with the range in the columns `first_offset`
and `next_offset`. Rows that were written before these columns existed have it only in their reason;
`lost_offsets` understands both, and nothing else takes a reason apart. Other rows of that stage
(a recreated topic, rows of a damaged file) have no range.
"""

import re

_REASON_PATTERN = re.compile(r"messages (\d+) to (\d+) were gone")


def lost_messages_reason(first: int, next_: int) -> str:
    """Quarantine reason of messages that Kafka deleted before they were read."""
    return f"messages {first} to {next_ - 1} were gone from Kafka, unread"


def topic_recreated_reason(epoch: int, next_: int) -> str:
    """Quarantine reason of a recreated topic: how far its predecessor was read."""
    return (
        f"the topic was made anew: of the one before (epoch {epoch}) messages up to {next_ - 1} "
        "are stored; any acknowledged after them are lost"
    )


def lost_offsets(first: int | None, next_: int | None, reason: str) -> range:
    """The offsets that a row of stage `lost` records; `reason` counts where it has no columns."""
    if first is not None and next_ is not None:
        return range(first, next_)
    match = _REASON_PATTERN.match(reason)
    return range(int(match[1]), int(match[2]) + 1) if match else range(0)
