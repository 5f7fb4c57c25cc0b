"""The parts of a small cluster here: three brokers, PostgreSQL, Valkey, an S3 server, and Trino."""

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.chaos.kafka_cluster import NODES, ClusterNode, KafkaCluster
from tests.installation import format_storage
from tests.postgresql import PostgreSQL
from tests.s3.server import S3Server
from tests.valkey_server import PASSWORD, ValkeyServer

PROCESSES = {"collectors": 2, "workers": 3, "queries": 2}
VARIABLE = "TIDEMARK_TEST_CLUSTER"
"""When it is 1, the tests of a whole stack run on a cluster."""
TRINO_VARIABLE = "TRINO"
"""When it is 1 (`make cluster TRINO=1`), the cluster has a Trino, which answers large queries."""
ENGINE_MB = 1
"""From so many MB of data files on Trino answers."""
QUERY_SECONDS = 60.0
"""For one query: everything shares the cores of this machine."""
brokers: list[ClusterNode] = []
"""Those of the running cluster, which no supervisor starts again."""


@contextmanager
def cluster(folder: Path) -> Iterator[Mapping[str, Any]]:
    """Start the parts; the settings by which Tidemark uses them.

    With Trino its tables are still to be registered, when they exist.

    The variables of the object store are set in this process, from which others inherit them.
    """
    with (
        KafkaCluster(folder / "kafka") as kafka,
        PostgreSQL() as postgresql,
        S3Server(folder / "store", lenient=runs_trino()) as store,
        ValkeyServer() as valkey,
        patch.dict(os.environ, store.environment),
        ExitStack() as others,
    ):
        engine = {}
        if runs_trino():
            from tests.conformance.trino_server import TrinoServer  # with an HTTP client

            trino = others.enter_context(TrinoServer(folder / "trino", store.environment))
            engine = {
                "engine": trino.address,
                "engine_mb": ENGINE_MB,
                "query_seconds": QUERY_SECONDS,
            }
        brokers[:] = kafka.nodes
        others.callback(brokers.clear)
        password = folder / "valkey-password"
        password.write_text(PASSWORD)
        yield {
            **PROCESSES,
            **engine,
            "kafka": kafka.address,
            "replication": NODES,
            "registry": postgresql.new_database(),
            "lake": store.url,
            "limits_url": valkey.url,
            "limits_password_file": str(password),
        }


def runs_on_cluster() -> bool:
    """Whether tests of a whole stack were asked to run on a cluster."""
    return os.environ.get(VARIABLE) == "1"


def runs_trino() -> bool:
    """Whether a cluster was asked for that has a Trino."""
    return os.environ.get(TRINO_VARIABLE) == "1"


@contextmanager
def stack_settings(folder: Path) -> Iterator[Mapping[str, Any]]:
    """Settings of a stack: those of a cluster if it is asked for, else of one machine."""
    if runs_on_cluster():
        with cluster(folder / "cluster") as settings:
            yield settings
    else:
        format_storage(folder / "kafka")
        yield {}
