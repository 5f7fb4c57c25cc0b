"""Memory that was needed for a moment goes back to the system.

Reading a day's ids takes and frees millions of small pieces. The C library keeps what lies between
the pieces that stay, and would hold twice of what is remembered for as long as the worker lives.
"""

import ctypes

import pyarrow as pa


def trim_memory() -> None:
    """Give back what is free; where the C library is another one, it does so by itself."""
    pa.default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
