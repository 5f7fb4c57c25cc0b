"""Migrates with PostHog's Python client: the collector's address and the API key are arguments."""

import sys
from datetime import UTC, datetime

from posthog import Posthog

host, key = sys.argv[1:]
posthog = Posthog(key, host=host, max_retries=0, historical_migration=True)
for number in (1, 2):
    posthog.capture(
        "Order",
        distinct_id="u1",
        properties={"total": number},
        timestamp=datetime(2019, 3, 1, 12, 0, number, tzinfo=UTC),
        uuid=f"0190a3c2-7c1e-7000-8000-00000000000{number}",
    )
posthog.set(distinct_id="u1", properties={"plan": "pro"})
posthog.shutdown()
