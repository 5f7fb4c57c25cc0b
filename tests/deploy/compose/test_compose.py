"""The compose file names settings, commands and ports that exist."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from deploy.local.kafka.jars import MAVEN_COORDINATES
from query.engine.trino.address import parse_address
from query.engine.trino.client import TrinoClient
from tests.deploy.deployment_files import DEPLOY, check_commands, check_variables, read_yaml

PASSWORD = "secret"
VARIABLE = re.compile(r"\$\{(\w+)(:-([^}]*)|:\?[^}]*)\}")
TRINO = DEPLOY / "compose" / "trino"


@pytest.fixture(scope="module")
def compose() -> Any:
    return read_yaml("compose/compose.yaml")


def processes(compose: Any) -> dict[str, Any]:
    return {
        name: service
        for name, service in compose["services"].items()
        if service.get("command", [""])[0] == "python"
    }


def test_settings_exist_and_are_valid(compose: Any) -> None:
    variables = compose["services"]["worker-1"]["environment"]

    check_variables({name: filled(value) for name, value in variables.items()})


def filled(value: str, given: Mapping[str, str] = MappingProxyType({})) -> str:
    """With variables of `.env`, or their defaults; those without a default are passwords."""
    return VARIABLE.sub(
        lambda found: given.get(found[1]) or (PASSWORD if found[3] is None else found[3]), value
    )


def test_each_process_is_one_of_tidemark_under_its_own_name(compose: Any) -> None:
    commands = {name: service["command"] for name, service in processes(compose).items()}

    assert {name: command[-1] for name, command in commands.items()} == {n: n for n in commands}
    check_commands(commands.values())


def test_processes_run_without_rights_on_a_read_only_root(compose: Any) -> None:
    for service in processes(compose).values():
        assert service["read_only"]
        assert service["cap_drop"] == ["ALL"]


def test_prometheus_reads_every_process(compose: Any) -> None:
    [job] = read_yaml("compose/prometheus.yaml")["scrape_configs"]
    targets = {target for group in job["static_configs"] for target in group["targets"]}

    assert targets == {f"{name}:4100" for name in processes(compose)}


def test_the_proxy_knows_every_http_service(compose: Any) -> None:
    proxy = (DEPLOY / "compose" / "Caddyfile").read_text()

    for name in processes(compose):
        port = {"collector": 4000, "query": 4001}.get(name.partition("-")[0])
        assert (f"{name}:{port}" in proxy) == (port is not None)


def test_alerts_reach_the_alertmanager(compose: Any) -> None:
    [alertmanagers] = read_yaml("compose/prometheus.yaml")["alerting"]["alertmanagers"]
    config = read_yaml("compose/alertmanager.yaml")

    assert alertmanagers["static_configs"] == [{"targets": ["alertmanager:9093"]}]
    assert "alertmanager" in compose["services"]
    assert config["route"]["receiver"] in {receiver["name"] for receiver in config["receivers"]}


def test_no_container_fills_the_disk_or_the_memory(compose: Any) -> None:
    for name, service in compose["services"].items():
        assert service["logging"]["options"] == {"max-size": "20m", "max-file": "5"}, name
        assert re.fullmatch(r"\d+[mg]", service["mem_limit"]), name


def test_images_have_exact_versions_and_kafka_the_tested_one(compose: Any) -> None:
    images = {name: service["image"] for name, service in compose["services"].items()}
    [kafka] = [one for one in MAVEN_COORDINATES if "kafka" in one]

    assert images["kafka"].rpartition(":")[2] == kafka.rpartition(":")[2]
    for name, image in images.items():
        if not name.startswith("trino"):  # its releases have one number, PostgreSQL's two
            assert re.search(r"postgres:\d+\.\d+|:v?\d+\.\d+\.\d+", image), image


def test_the_proxy_passes_on_what_a_proxy_before_it_sends() -> None:
    proxy = (DEPLOY / "compose" / "Caddyfile").read_text()

    assert re.search(r"servers \{\s+trusted_proxies static private_ranges\s+\}", proxy)


def test_passwords_have_no_default(compose: Any) -> None:
    examples = (DEPLOY / "compose" / "env.example").read_text().splitlines()

    names = [line.removesuffix("=") for line in examples if line.endswith("=")]
    assert names == ["POSTGRES_PASSWORD", "STORE_PASSWORD", "GRAFANA_PASSWORD"]
    text = (DEPLOY / "compose" / "compose.yaml").read_text()
    assert all(f"${{{name}:?" in text and f"${{{name}}}" not in text for name in names)


def properties(path: Path) -> dict[str, str]:
    """A configuration file of Trino."""
    lines = (line for line in path.read_text().splitlines() if line and line[0] != "#")
    return dict(line.split("=", 1) for line in lines)


def trino_settings() -> dict[str, str]:
    """The lines of `env.example` that switch Trino on."""
    lines = (DEPLOY / "compose" / "env.example").read_text().splitlines()
    return dict(line[2:].split("=", 1) for line in lines if re.match(r"# [A-Z_]+=", line))


def test_trino_is_a_profile_that_the_example_of_variables_switches_on(compose: Any) -> None:
    variables = compose["services"]["query-1"]["environment"]
    given = trino_settings()

    assert {n for n, s in compose["services"].items() if s.get("profiles") == ["trino"]} == {
        "trino",
        "trino-worker",
        "register",
    }
    assert given["COMPOSE_PROFILES"] == "trino"
    assert filled(variables["TIDEMARK_ENGINE"]) == "duckdb"
    assert filled(variables["TIDEMARK_ENGINE"], given) == given["TIDEMARK_ENGINE"]
    check_variables({name: filled(value, given) for name, value in variables.items()})


def test_the_addresses_of_trino_are_those_of_its_files(compose: Any) -> None:
    asked = parse_address(trino_settings()["TIDEMARK_ENGINE"])
    registers = parse_address(compose["services"]["register"]["command"][-1])
    coordinator, worker = (properties(TRINO / f"{n}.properties") for n in ("coordinator", "worker"))

    assert asked.url == registers.url == worker["discovery.uri"] == "http://trino:8080"
    assert coordinator["http-server.http.port"] == "8080"
    assert (coordinator["coordinator"], worker["coordinator"]) == ("true", "false")
    assert (TRINO / "catalog" / f"{asked.catalog}.properties").exists()
    assert (asked.catalog, asked.schema) == (registers.catalog, registers.schema)
    rules = json.loads((TRINO / "rules.json").read_text())
    allowed = {rule["user"]: rule["allow"] for rule in rules["catalogs"]}
    assert allowed == {asked.user: "read-only", registers.user: "all"}
    assert [(rule["user"], rule["procedure"]) for rule in rules["procedures"]] == [
        (registers.user, "register_table")
    ]


def test_each_organization_has_a_resource_group_of_its_own() -> None:
    groups = json.loads((TRINO / "resource-groups.json").read_text())
    headers = TrinoClient(parse_address("trino://a@b:1/c.d"))._headers(1.0, "org_1")

    tenant, others = groups["selectors"]
    found = re.fullmatch(tenant["source"].replace("?<", "?P<"), headers["X-Trino-Source"])
    assert found
    assert found.groupdict() == {"organization": "org_1"}
    names = {
        root["name"]: [sub["name"] for sub in root.get("subGroups", ())]
        for root in groups["rootGroups"]
    }
    assert tenant["group"] == "tidemark.${organization}"
    assert names == {"tidemark": ["${organization}"], others["group"]: []}


def files_of_variables() -> Iterator[str]:
    """Variables that the configuration files of Trino read."""
    for path in TRINO.rglob("*.properties"):
        yield from re.findall(r"\$\{ENV:(\w+)\}", path.read_text())


def test_every_file_and_variable_of_trino_is_given_to_it(compose: Any) -> None:
    mounted: dict[str, set[str]] = {}
    for name in ("trino", "trino-worker"):
        service = compose["services"][name]
        assert set(files_of_variables()) == service["environment"].keys()
        sources = {volume.partition(":")[0] for volume in service["volumes"]} - {"trino"}
        assert all((DEPLOY / "compose" / source).exists() for source in sources)
        mounted[name] = {Path(source).name for source in sources}
    assert mounted["trino"] | mounted["trino-worker"] == {path.name for path in TRINO.iterdir()}
