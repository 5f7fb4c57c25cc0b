"""Work aside: shaping many rows in a thread, so that the event loop answers others meanwhile.

Two threads, because they share one interpreter with the event loop: it waits for each of them.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

MIN_OFFLOADED_ROWS = 500
"""Rows that are shaped sooner than a thread is woken and heard."""

WORKERS = ThreadPoolExecutor(2, thread_name_prefix="shape")

T = TypeVar("T")


async def run_in_worker(rows: int, work: Callable[[], T]) -> T:
    """What the work on so many rows gives."""
    if rows <= MIN_OFFLOADED_ROWS:
        return work()
    return await asyncio.get_running_loop().run_in_executor(WORKERS, work)
