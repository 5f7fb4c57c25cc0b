"""Check of the object store: it answers to our address and credentials, and tables can be read.

The checks of what it holds are not run without it: each would find the same.
"""

from collections.abc import Iterator

from deploy.local.doctor.check import STORE, Check, CheckContext, CheckSkipped
from deploy.local.store_problem import explain
from schemas.lake.object_store import (
    BRIEF,
    UNREADABLE,
    ObjectFolder,
    StoreUnreachable,
    is_object_store,
    limit_time,
)
from schemas.runtime.finding import Finding
from schemas.tables import EVENTS


def find_unreadable_store(scope: CheckContext) -> Iterator[Finding]:
    """That the object store does not answer, or rejects what the services send; within seconds."""
    url = scope.settings.lake_url
    if not is_object_store(url):
        raise CheckSkipped("the lake is not in an object store")
    try:
        with limit_time(BRIEF):
            _read_some(url)
    except StoreUnreachable as error:
        problem, remedy = explain(error)
        yield Finding(
            subject=url,
            problem=f"{UNREADABLE}{problem}",
            meaning="Workers store nothing, and queries fail; events are accepted and stay in "
            "Kafka. The checks of what it holds were not run.",
            remedy=remedy,
        )


def _read_some(url: str) -> None:
    """List the log of a table, and read of its newest entry."""
    log, store = f"{EVENTS.name}/_delta_log", ObjectFolder(url)
    if names := store.names(log):
        store.read_range(f"{log}/{names[-1]}", 0, 1)


OBJECT_STORE_CHECK = Check(
    STORE, "it answers, and what is in it can be read", find_unreadable_store
)
