"""The values of the chart name settings that exist, and its version is that of the package."""

import tomllib

from tests.deploy.deployment_files import DEPLOY, check_variables, read_yaml


def test_settings_exist_and_are_valid() -> None:
    values = read_yaml("helm/tidemark/values.yaml")

    check_variables({name: value for name, value in values["settings"].items() if value})


def test_the_chart_has_the_version_of_the_package() -> None:
    chart = read_yaml("helm/tidemark/Chart.yaml")
    package = tomllib.loads((DEPLOY.parent / "pyproject.toml").read_text())["project"]

    assert chart["appVersion"] == package["version"]


def test_no_more_workers_than_partitions() -> None:
    values = read_yaml("helm/tidemark/values.yaml")

    most = values["worker"]["autoscaling"]["maxReplicas"]
    assert most <= int(values["settings"]["TIDEMARK_PARTITIONS"])
