"""Tests of the engine need a cluster with a Trino: `make cluster TRINO=1 ARGS=tests/cluster`."""

from tests.cluster.parts import runs_trino

collect_ignore = [] if runs_trino() else ["test_engine.py"]
