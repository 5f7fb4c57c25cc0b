"""Checks that an object store enforces conditional puts: without them commits overwrite each other.

A store that ignores `If-None-Match` acknowledges both of two commits of one version, and the rows
of one are gone. So nothing is written before the store has refused to replace an object.
"""

import asyncio
import logging
import time

from schemas.lake.object_store import ObjectFolder, StoreUnreachable, is_object_store
from stream.runtime.errors import LakeUnreachable, UnsafeStore

log = logging.getLogger(__name__)

PROBE_SECONDS = 0.5
PROBE = "_probe/if-none-match"
"""Readers of tables ignore names that begin with an underscore."""


def check_conditional_put(lake: str) -> None:
    """UnsafeStore when the store replaces objects; LakeUnreachable when it does not answer."""
    if not is_object_store(lake):
        return
    try:
        objects = ObjectFolder(lake)
        # The first start writes the object; a store that replaces it does so twice.
        if objects.create(PROBE, b"first") and objects.create(PROBE, b"second"):
            raise UnsafeStore(
                f"the object store of {lake} replaces an object although it was told not to "
                "(If-None-Match), so two workers could overwrite each other's commits; use a "
                "store with conditional writes"
            )
    except StoreUnreachable as error:
        raise LakeUnreachable(f"{lake} cannot be reached: {error}") from None


async def await_store(lake: str, seconds: float) -> None:
    """As `check_conditional_put`; a store that does not answer is asked for so long."""
    until = time.monotonic() + seconds
    is_logged = False
    while True:
        try:
            return await asyncio.to_thread(check_conditional_put, lake)
        except LakeUnreachable as error:
            if time.monotonic() > until:
                raise
            if not is_logged:
                log.warning("waiting for the object store", extra={"reason": str(error)})
            is_logged = True
        await asyncio.sleep(PROBE_SECONDS)
