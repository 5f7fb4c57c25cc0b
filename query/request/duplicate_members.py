"""Refuses JSON objects that have a member twice, of which decoders keep the last without a word."""

import json
from collections import Counter
from typing import Any

from schemas.errors import Malformed


def check_members(text: bytes, at: str = "") -> None:
    """Malformed when an object of this valid JSON text has a member twice.

    `at` names the query parameter that holds the text, if any.
    """

    def check(members: list[tuple[str, Any]]) -> None:
        if len(members) > 1 and len(dict(members)) < len(members):
            name, _ = Counter(name for name, _ in members).most_common(1)[0]
            where = f"'{at}'" if at else "The body"
            raise Malformed(f"{where} has the member '{name[:60]}' twice in one object; keep one")

    # Numbers stay text: only the names of members are looked at.
    json.loads(text.decode(), object_pairs_hook=check, parse_int=str, parse_float=str)
