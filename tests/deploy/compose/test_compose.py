"""The compose file names settings, commands and ports that exist."""

from typing import Any

import pytest

from tests.deploy.deployment_files import DEPLOY, check_commands, check_variables, read_yaml

PASSWORD = "secret"


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


def filled(value: str) -> str:
    """With the variables of `.env`, which must be set."""
    before, found, rest = value.partition("${")
    return f"{before}{PASSWORD}{rest.partition('}')[2]}" if found else value


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


def test_passwords_have_no_default(compose: Any) -> None:
    examples = (DEPLOY / "compose" / "env.example").read_text().splitlines()

    names = [line.removesuffix("=") for line in examples if line.endswith("=")]
    assert names == ["POSTGRES_PASSWORD", "STORE_PASSWORD", "GRAFANA_PASSWORD"]
    text = (DEPLOY / "compose" / "compose.yaml").read_text()
    assert all(f"${{{name}:?" in text and f"${{{name}}}" not in text for name in names)
