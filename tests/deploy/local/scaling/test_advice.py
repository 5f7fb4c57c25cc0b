"""Each situation of a group of workers has its advice, worked out by hand."""

from collections.abc import Sequence

import pytest

from deploy.local.scaling.advice import advise, catch_up_seconds, hot_partitions
from deploy.local.scaling.measurement import LoadMeasurement, PartitionRate, WorkerRate


def partition(
    number: int, arrival: float, drain: float, lag: int, worker: int = 1
) -> PartitionRate:
    return PartitionRate("events", number, arrival, drain, lag, f"worker-{worker} (10.0.0.1)")


def measured(
    partitions: Sequence[PartitionRate], workers: int, lag_seconds: float = 60.0
) -> LoadMeasurement:
    found = []
    for number in range(1, workers + 1):
        own = [p for p in partitions if p.worker == f"worker-{number} (10.0.0.1)"]
        rate = WorkerRate(
            f"worker-{number}",
            "10.0.0.1",
            len(own),
            sum(p.arrival for p in own),
            sum(p.drain for p in own),
            sum(p.lag for p in own),
        )
        found.append(rate)
    return LoadMeasurement(10.0, partitions, found, lag_seconds)


def test_workers_that_keep_up_are_left_alone() -> None:
    advice = advise(measured([partition(0, 10, 10, 3)], 1, lag_seconds=1.5))

    assert (advice.change, advice.catch_up_seconds, advice.workers) == ("none", 0.0, None)


def test_a_worker_without_a_partition_is_named() -> None:
    advice = advise(measured([partition(0, 10, 10, 0)], 2, lag_seconds=0))

    assert advice.change == "none"
    assert advice.text == "Nothing waits long for 2 workers; 1 without a partition to read."


def test_a_lag_that_is_gone_soon_needs_no_change() -> None:
    advice = advise(measured([partition(0, 10, 30, 2000)], 1))

    assert (advice.change, advice.catch_up_seconds) == ("none", 100.0)


def test_a_growing_lag_needs_more_workers() -> None:
    """20 arrive, one worker stores 10; 20 + 6000 / 600 = 30 per second need three workers."""
    partitions = [partition(number, 5, 2.5, 1500) for number in range(4)]

    advice = advise(measured(partitions, 1))

    assert (advice.change, advice.workers, advice.partitions) == ("workers", 3, None)
    assert advice.catch_up_seconds is None
    assert "3 workers store about 30.0 per second and catch up in 600 s" in advice.effect


def test_more_workers_than_partitions_need_partitions_too() -> None:
    partitions = [partition(number, 10, 5, 3000) for number in range(2)]

    advice = advise(measured(partitions, 1))

    assert (advice.change, advice.workers, advice.partitions) == ("workers", 2, 3)
    assert "still fall behind" in advice.effect


def test_with_a_worker_for_each_partition_only_partitions_help() -> None:
    partitions = [partition(0, 10, 5, 3000, worker=1), partition(1, 10, 5, 3000, worker=2)]

    advice = advise(measured(partitions, 2))

    assert (advice.change, advice.workers, advice.partitions) == ("partitions", 6, 6)


def test_workers_that_store_nothing_are_not_multiplied() -> None:
    advice = advise(measured([partition(0, 10, 0, 3000)], 2))

    assert (advice.change, advice.workers) == ("stalled", None)


def test_without_workers_they_are_started() -> None:
    assert advise(measured([partition(0, 10, 0, 3000)], 0)).change == "start"


@pytest.mark.parametrize(("others", "workers"), [(3, 2), (0, None)])
def test_a_hot_partition_gets_a_worker_for_itself_if_that_helps(
    others: int, workers: int | None
) -> None:
    hot = partition(9, 100, 20, 9000, worker=1)
    rest = [partition(number, 2, 2, 0, worker=1 if others else 2) for number in range(3)]

    advice = advise(measured([hot, *rest], 1 if others else 2))

    assert (advice.change, advice.workers, advice.hot) == ("hot", workers, [hot])


def test_a_partition_is_hot_by_what_it_receives_not_by_its_lag_alone() -> None:
    behind = partition(0, 10, 1, 9000)

    assert hot_partitions([behind, partition(1, 10, 10, 0)]) == []
    assert hot_partitions([behind]) == []


@pytest.mark.parametrize(
    ("lag", "arrival", "drain", "seconds"),
    [(0, 5, 1, 0.0), (100, 5, 15, 10.0), (100, 5, 5, None), (100, 5, 1, None)],
)
def test_time_to_catch_up(lag: int, arrival: float, drain: float, seconds: float | None) -> None:
    assert catch_up_seconds(lag, arrival, drain) == seconds
