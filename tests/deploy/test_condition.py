from pathlib import Path

from deploy.local.condition import lag_chunks, lag_seconds
from deploy.local.ready import is_live, pulse_says
from schemas.clock import now_ms
from schemas.pulse import STALE_MS, Progress, Pulse, write_pulse

NOW = 1_795_262_400_000


def working(process: str, *progress: Progress, level_ms: int = NOW) -> Pulse:
    return Pulse(process, 1, NOW, progress=progress, complete_ms={"events": level_ms})


def test_the_lag_of_a_topic_is_that_of_all_its_partitions() -> None:
    pulses = [
        working("worker-1", Progress("events", 0, 10, 14), Progress("vitals", 0, 0, 99)),
        working("worker-2", Progress("events", 1, 7, 7), Progress("events", 2, 1, 4)),
    ]

    assert lag_chunks("events", pulses) == 7
    assert lag_chunks("clicks", pulses) is None


def test_a_partition_that_was_read_past_its_last_look_does_not_lag() -> None:
    assert lag_chunks("events", [working("worker-1", Progress("events", 0, 12, 10))]) == 0


def test_the_worker_that_is_furthest_behind_says_since_when() -> None:
    pulses = [working("worker-1", level_ms=NOW - 1_500), working("worker-2", level_ms=NOW - 4_250)]

    assert lag_seconds("events", pulses, 3, NOW) == 4.2
    assert lag_seconds("events", pulses, 0, NOW) == 0.0
    assert lag_seconds("events", pulses, None, NOW) is None


def test_a_pulse_is_believed_when_it_is_fresh_ready_and_of_this_process(tmp_path: Path) -> None:
    ready = pulse_says(tmp_path, "worker-1")
    now, believed = now_ms(), []
    for pulse in (
        Pulse("worker-1", 7, now),
        Pulse("worker-1", 8, now),
        Pulse("worker-1", 7, now, state="starting"),
        Pulse("worker-1", 7, now - STALE_MS - 1),
    ):
        write_pulse(tmp_path, pulse)
        believed.append(ready(7))

    assert believed == [True, False, False, False]


def test_a_pulse_of_long_ago_is_of_nobody() -> None:
    assert not is_live(Pulse("worker-1", 7, NOW - 1_000_000_000_000))
