"""The parts of a small cluster: three brokers, PostgreSQL, Valkey and an S3 server, all here."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.chaos.kafka_cluster import NODES, KafkaCluster
from tests.installation import format_storage
from tests.postgresql import PostgreSQL
from tests.s3.server import S3Server
from tests.valkey_server import PASSWORD, ValkeyServer

PROCESSES = {"collectors": 2, "workers": 3, "queries": 2}
VARIABLE = "TIDEMARK_TEST_CLUSTER"
"""When it is 1, the tests of a whole stack run on a cluster."""


@contextmanager
def cluster(folder: Path) -> Iterator[Mapping[str, Any]]:
    """Start the parts; the settings by which Tidemark uses them.

    The variables of the object store are set in this process, from which others inherit them.
    """
    with (
        KafkaCluster(folder / "kafka") as kafka,
        PostgreSQL() as postgresql,
        S3Server(folder / "store") as store,
        ValkeyServer() as valkey,
        patch.dict(os.environ, store.environment),
    ):
        password = folder / "valkey-password"
        password.write_text(PASSWORD)
        yield {
            **PROCESSES,
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


@contextmanager
def stack_settings(folder: Path) -> Iterator[Mapping[str, Any]]:
    """Settings of a stack: those of a cluster if it is asked for, else of one machine."""
    if runs_on_cluster():
        with cluster(folder / "cluster") as settings:
            yield settings
    else:
        format_storage(folder / "kafka")
        yield {}
