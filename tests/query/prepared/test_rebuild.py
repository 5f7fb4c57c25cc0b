"""`tidemark rebuild`: prepared results of all websites, made ahead of queries."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from query.prepared.rebuild import Rebuilt, rebuild
from schemas.runtime.settings import Settings
from tests.query.lake import a_view, a_vital
from tests.query.query_service import NOW, InProcessService


def stored(service: InProcessService) -> None:
    for website in ("shop", "blog"):
        service.holds(a_view("/", website=website), a_view("/a", website=website, visitor="u2"))
        service.holds(a_vital("LCP", 2.5, website=website))


def run(
    service: InProcessService, websites: Sequence[str], prepared_mb: int = 512
) -> Rebuilt | None:
    options = Settings(data_dir=str(service.data), prepared_mb=prepared_mb)
    return asyncio.run(rebuild(options, websites, lambda *_: None, lambda: NOW))


def files(service: InProcessService) -> list[Path]:
    return sorted(Path(service.data, "prepared").glob("*/*/*.parquet"))


def test_the_first_answer_is_prepared_after_it(service: InProcessService) -> None:
    stored(service)

    rebuilt = run(service, ["shop", "blog"])

    assert rebuilt is not None
    rollups = files(service)
    size = sum(path.stat().st_size for path in rollups)
    assert (rebuilt.websites, rebuilt.rollups, rebuilt.not_prepared) == (2, len(rollups), 0)
    assert rebuilt.size == size
    for name in ("summary", "paths", "session_flow", "slow_pages", "vitals_overview"):
        [entry] = service.query(name).json["data"]
        assert entry["meta"]["prepared"] is True, name


def test_websites_are_done_when_all_of_theirs_is_made(service: InProcessService) -> None:
    stored(service)
    options = Settings(data_dir=str(service.data))
    told: list[tuple[int, int]] = []

    asyncio.run(rebuild(options, ["shop", "blog"], lambda *done: told.append(done), lambda: NOW))

    assert [rollups for rollups, _ in told] == list(range(1, len(told) + 1))
    assert [done for _, done in told] == [0] * (len(told) - 1) + [1]


def test_parts_that_are_there_are_made_anew(service: InProcessService) -> None:
    stored(service)
    run(service, ["shop"])
    before = files(service)
    before[0].write_bytes(b"damaged")

    rebuilt = run(service, ["shop"])

    assert rebuilt is not None
    assert files(service) == before
    assert before[0].read_bytes() != b"damaged"


def test_a_full_folder_ends_it(service: InProcessService) -> None:
    stored(service)

    rebuilt = run(service, ["shop", "blog"], prepared_mb=1)

    assert rebuilt is not None
    assert rebuilt.rollups > 0


def test_nothing_is_made_where_they_are_switched_off(service: InProcessService) -> None:
    stored(service)

    assert run(service, ["shop"], prepared_mb=0) is None
    assert files(service) == []
