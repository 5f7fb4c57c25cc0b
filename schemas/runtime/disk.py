"""Bytes to keep free on a disk."""

MIB = 1_048_576
FLOOR_DIVISOR = 20
MIN_FLOOR_BYTES, MAX_FLOOR_BYTES = 16 * MIB, 512 * MIB
"""The default floor is a twentieth of the disk, within these bounds."""


def default_floor(total: int) -> int:
    """Bytes to keep free on a disk of this size."""
    return min(MAX_FLOOR_BYTES, max(MIN_FLOOR_BYTES, total // FLOOR_DIVISOR))
