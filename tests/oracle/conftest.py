"""Makes the long profile known before tests are collected."""

from tests.oracle import profile

__all__ = ["profile"]
