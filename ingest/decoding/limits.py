"""Limits of a request to the collector: bytes, items, keys and nesting."""

MAX_BODY_BYTES = 1024 * 1024
BODY_TIMEOUT_SECONDS = 10.0
MAX_ITEMS = 500
MAX_ITEM_BYTES = 64 * 1024

MAX_PROPERTIES = 100
MAX_KEY_LENGTH = 128
MAX_DEPTH = 8

MAX_BRACKETS = 256
"""Brackets in one item beyond which its nesting is not trusted to every later decoder's stack."""
