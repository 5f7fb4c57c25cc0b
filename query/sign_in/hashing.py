"""Hashing of passwords in threads of its own, so that a wave of sign-ins holds up nothing else."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from schemas.errors import Unavailable
from schemas.registry import passwords

T = TypeVar("T")

THREADS = ThreadPoolExecutor(2, "passwords")
"""A hash takes 64 MiB, and some 50 ms of several cores."""
PLACES = threading.BoundedSemaphore(64)
"""Passwords that are hashed or wait for it."""


async def matches(password: str, hashed: str) -> bool:
    """Whether it is the password of which the hash is; Unavailable when too many wait."""
    return await _run(lambda: passwords.password_matches(password, hashed))


async def new_hash(password: str) -> str:
    """The hash of a password, as it is stored; Unavailable when too many wait."""
    return await _run(lambda: passwords.hash_password(password))


async def _run(work: Callable[[], T]) -> T:
    if not PLACES.acquire(blocking=False):
        raise Unavailable("Too many people sign in at the moment; retry")
    try:
        return await asyncio.get_running_loop().run_in_executor(THREADS, work)
    finally:
        PLACES.release()
