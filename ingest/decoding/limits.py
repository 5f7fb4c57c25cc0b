"""Size limits of a request and its items."""

MAX_BODY_BYTES = 1024 * 1024
BODY_TIMEOUT_SECONDS = 10.0
MAX_ITEMS = 500
MAX_ITEM_BYTES = 64 * 1024

MAX_PROPERTIES = 100
MAX_KEY_LENGTH = 128
MAX_DEPTH = 8

MAX_BRACKETS = 256
"""Opening brackets in one item; more could exhaust the stack of a later JSON decoder."""
