"""What other processes counted in rate-limit buckets, of one machine and of all."""

import asyncio
from pathlib import Path

import pytest

from schemas.http.limit_usage import COLLECTOR, LimitUsage, Usage
from schemas.http.shared_rate_limit import SharedRateLimiter
from schemas.plans import Group, Limit
from schemas.runtime.clock import now_ms
from schemas.runtime.settings import Settings
from tests.installation import free_port
from tests.valkey_server import PASSWORD, ValkeyServer

KEY = (Group.COLLECT, "acme")


async def usage_after(settings: Settings, reader: Settings) -> Usage:
    """What a reader sees after a collector counted three requests with seven items."""
    limiter = SharedRateLimiter.for_settings(settings, COLLECTOR)
    bucket = limiter.tenant_bucket(KEY, Limit(100), "a test", now_ms())
    bucket.add(now_ms(), 3, 500, 7)
    await limiter.close()
    return await LimitUsage(reader).read(COLLECTOR, [KEY, (Group.COLLECT, "globex")])


def test_a_reader_sees_what_a_collector_of_this_machine_counted(tmp_path: Path) -> None:
    settings = Settings(data_dir=str(tmp_path))

    usage = asyncio.run(usage_after(settings, settings))

    ours, theirs = usage.counts
    assert (ours.requests, ours.bytes, ours.items, usage.all_machines) == (3, 500, 7, False)
    assert theirs.requests == 0


def test_a_reader_sees_what_a_collector_of_another_machine_counted(tmp_path: Path) -> None:
    password = tmp_path / "password"
    password.write_text(PASSWORD)
    with ValkeyServer() as server:
        here, there = (
            Settings(
                data_dir=str(tmp_path / name),
                limits_url=server.url,
                limits_password_file=str(password),
            )
            for name in ("here", "there")
        )
        usage = asyncio.run(usage_after(there, here))

    assert (usage.counts[0].requests, usage.all_machines) == (3, True)


def test_where_no_process_has_counted_nothing_is_created(tmp_path: Path) -> None:
    usage = asyncio.run(LimitUsage(Settings(data_dir=str(tmp_path))).read(COLLECTOR, [KEY]))

    assert usage.counts[0].requests == 0
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_does_not_answer_is_an_error(tmp_path: Path) -> None:
    settings = Settings(data_dir=str(tmp_path), limits_url=f"redis://127.0.0.1:{free_port()}")

    with pytest.raises(OSError, match=r"127\.0\.0\.1"):
        asyncio.run(LimitUsage(settings).read(COLLECTOR, [KEY]))
