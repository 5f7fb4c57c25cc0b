"""How much one request may bring (design 7)."""

BODY_BYTES = 1024 * 1024
BODY_SECONDS = 10.0
ITEMS = 500
ITEM_BYTES = 64 * 1024

PROPERTIES = 100
KEY = 128
DEPTH = 8

NESTING = 256
"""Brackets in one item beyond which its nesting is not trusted to every later decoder's stack."""
