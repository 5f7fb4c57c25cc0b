"""Items of a batch that are sent again from the quarantine: which leave it, which are duplicates.

An item leaves the quarantine by an entry with stage `replayed`, whatever becomes of it then: it is
stored, or quarantined again with an entry of its own. One that the table holds already is a
duplicate like any other, and its entry names the quarantined item too.
"""

from collections.abc import Sequence

from msgspec import Struct, structs

from stream.rows.quarantine import QuarantineEntry


class Replays(Struct, frozen=True):
    """The entries of replays, and those of all duplicates of a batch."""

    replayed: Sequence[QuarantineEntry]
    duplicates: Sequence[QuarantineEntry]


def find_replays(
    replayed: Sequence[QuarantineEntry], duplicates: Sequence[QuarantineEntry]
) -> Replays:
    """The replays that are no duplicates, and the duplicates with the replays that they are."""
    if not replayed:
        return Replays((), duplicates)
    replay_ids = {entry.row_key: entry.reason for entry in replayed}
    duplicate_keys = {entry.row_key for entry in duplicates}
    return Replays(
        [entry for entry in replayed if entry.row_key not in duplicate_keys],
        [
            structs.replace(entry, reason=replay_ids.get(entry.row_key, entry.reason))
            for entry in duplicates
        ],
    )
