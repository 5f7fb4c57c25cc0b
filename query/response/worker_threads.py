"""Runs CPU work on many rows, or on long SQL, in a thread, so that the event loop stays responsive.

Two threads only, because they share the interpreter lock with the event loop.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

MIN_OFFLOADED_ROWS = 500
"""Up to this number of rows a thread costs more than the work."""

WORKERS = ThreadPoolExecutor(2, thread_name_prefix="shape")

T = TypeVar("T")


async def run_in_worker(rows: int, work: Callable[[], T]) -> T:
    """Run the work on that number of rows, in a thread if they are many."""
    if rows <= MIN_OFFLOADED_ROWS:
        return work()
    return await asyncio.get_running_loop().run_in_executor(WORKERS, work)
