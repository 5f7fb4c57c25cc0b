"""Visitors that nothing names: a keyed hash of cut address and user agent that changes every day.

Of short links, and of a website whose tracker sends no id. The website, or whose links they are, is
in what is hashed: without the day's secret no two names can be told to be the same person's, and
nobody has the secret of a day that is over.
"""

import hashlib

from ingest.publishing.anonymous_id import DailySalts


class AnonymousIds:
    """Names visitors for a day; without the secret no name leads back to an address."""

    def __init__(self, secrets: DailySalts) -> None:
        self._salts = secrets

    def for_links(self, organization_id: str, address: str, user_agent: str, now_ms: int) -> str:
        """32 hexadecimal digits, for all links of one organization."""
        return self._hash(now_ms, "links", organization_id, address, user_agent)

    def for_website(self, website_id: str, address: str, user_agent: str, now_ms: int) -> str:
        """The same for one website, so that nobody can be followed from one to another."""
        return self._hash(now_ms, website_id, address, user_agent)

    def _hash(self, now_ms: int, *parts: str) -> str:
        said = "\0".join(parts).encode()
        return hashlib.blake2b(said, key=self._salts.get(now_ms), digest_size=16).hexdigest()
