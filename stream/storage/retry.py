"""Retry with jitter after commit conflicts."""

import logging
import random
import time

from schemas.tables import Table

log = logging.getLogger(__name__)

MAX_ATTEMPTS = 10


def wait_for_retry(table: Table, attempt: int, error: Exception) -> None:
    """Log a failed attempt and wait, longer after each one."""
    log.warning(
        "commit retried",
        extra={"table": table.name, "attempt": attempt + 1, "reason": str(error)},
    )
    time.sleep(random.uniform(0.02, 0.08) * (attempt + 1))  # noqa: S311 - jitter, no secret
