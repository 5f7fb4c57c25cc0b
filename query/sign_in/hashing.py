"""Hashing of passwords in threads of its own, so that a wave of sign-ins holds up nothing else."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from schemas.registry.passwords import hash_password, password_matches

THREADS = ThreadPoolExecutor(2, "passwords")
"""A hash takes 64 MiB, and some 50 ms of several cores."""


async def matches(password: str, hashed: str) -> bool:
    """Whether it is the password of which the hash is."""
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(THREADS, password_matches, password, hashed)


async def new_hash(password: str) -> str:
    """The hash of a password, as it is stored."""
    return await asyncio.get_running_loop().run_in_executor(THREADS, hash_password, password)
