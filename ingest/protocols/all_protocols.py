"""PROTOCOLS: the products whose trackers the collector understands."""

from ingest.protocols.protocol import Protocol
from ingest.protocols.segment import SEGMENT

PROTOCOLS: tuple[Protocol, ...] = (SEGMENT,)
