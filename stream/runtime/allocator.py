"""Memory allocator and garbage collector of worker and keeper (mallopt, malloc_trim, gc.freeze).

By default glibc returns memory to the system after each batch and takes it back page by page, which
costs a worker 2 µs an event; and the garbage collector walks rows that are part of no cycle.
"""

import ctypes
import gc

import pyarrow as pa

GC_THRESHOLD = 50_000
"""Allocations after which the garbage collector runs."""

RETAINED_BYTES = 96 << 20
"""Free bytes that are kept for the next batch."""

MMAP_BYTES = 32 << 20
"""Blocks from this size on are allocated by mmap and returned when freed; glibc's maximum."""

TRIM_THRESHOLD, TOP_PAD, MMAP_THRESHOLD, ARENAS = -1, -2, -3, -8
"""Option numbers of glibc's `mallopt`."""


def tune_allocator() -> None:
    """Apply the settings; called once everything is loaded that stays for the worker's life."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(GC_THRESHOLD, 20, 100)
    pa.set_memory_pool(pa.system_memory_pool())
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:  # another C library than glibc
        return
    for option, value in (
        (TRIM_THRESHOLD, RETAINED_BYTES),
        (TOP_PAD, RETAINED_BYTES // 8),
        (MMAP_THRESHOLD, MMAP_BYTES),
        (ARENAS, 1),
    ):
        mallopt(option, value)


def trim_memory() -> None:
    """Return free memory to the system (`malloc_trim`), after work that needed much for a moment.

    Scanning a day's ids allocates and frees millions of small blocks. glibc keeps the pages between
    the blocks that stay, and would hold twice the size of the id index for the worker's life.
    """
    pa.default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
