"""Reasons of the quarantine: those that name a replay, and what mends the items of the others."""

import re

REPLAY_PREFIX = "replay:"
"""Begins a reason that names the quarantined item of a replay."""


def replay_id(topic: str, epoch: int, partition: int, offset: int, seq: int) -> str:
    """The name of a quarantined item in its replay: where the item lay in Kafka."""
    return f"{REPLAY_PREFIX}{topic}/{epoch}/{partition}/{offset}/{seq}"


WRONG_TYPE = re.compile(r"Expected `(\w+)[^`]*`, got `\w+` - at `\$\.([\w.]+)`")
MISSING = re.compile(r"Object missing required field `(\w+)`")
CONVERSIONS = {"int": "number", "float": "number", "str": "text", "bool": "boolean"}
REPLAY = "tidemark quarantine replay"
BY_STAGE = {
    "decode": "run workers of the collectors' version or a newer one, then replay",
    "enrich": "an error of this version: upgrade, then replay; report the reason",
    "write": "an error of this version: upgrade, then replay; report the reason",
    "duplicate": "nothing to do: the sender repeated an item that is stored",
    "lost": "raise TIDEMARK_RETENTION_HOURS, or start more workers",
}


def remedy(stage: str, reason: str) -> str:
    """What would mend the items of a reason."""
    if match := WRONG_TYPE.search(reason):
        type_, path = match.groups()
        return f"{REPLAY} --set '{path} = {CONVERSIONS.get(type_, '…')}'"
    if match := MISSING.search(reason):
        return f"{REPLAY} --set '{match[1]} = …'"
    if reason.startswith("not a chunk"):
        return "find who else writes to the topic: only collectors may"
    return BY_STAGE.get(stage, "")
