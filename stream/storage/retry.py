"""How often and how patiently something is tried again that others get in the way of."""

import logging
import random
import time

from schemas.tables import Table

log = logging.getLogger(__name__)

MAX_ATTEMPTS = 10


def wait_for_retry(table: Table, attempt: int, error: Exception) -> None:
    log.warning(
        "commit tried again",
        extra={"table": table.name, "attempt": attempt + 1, "reason": str(error)},
    )
    time.sleep(random.uniform(0.02, 0.08) * (attempt + 1))  # noqa: S311 - jitter, no secret
