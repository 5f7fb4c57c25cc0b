"""Settings are loaded from the environment, validated, and passed to child processes."""

import re
from pathlib import Path

import pytest

from schemas.runtime import environment
from schemas.runtime.environment import InvalidSetting
from schemas.runtime.settings import Settings


def test_an_empty_environment_gives_the_defaults() -> None:
    assert environment.load_settings({}) == Settings()


def test_a_variable_is_a_field_in_capitals() -> None:
    loaded = environment.load_settings(
        {"TIDEMARK_COLLECT_PORT": "5000", "TIDEMARK_DEMO": "0", "OTHER": "x"}
    )

    assert (loaded.collect_port, loaded.demo) == (5000, False)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("TIDEMARK_DATA_DIR", ""),
        ("TIDEMARK_COLLECT_PORT", "0"),
        ("TIDEMARK_COLLECT_PORT", "http"),
        ("TIDEMARK_WORKERS", "-1"),
        ("TIDEMARK_BATCH_SECONDS", "0"),
        ("TIDEMARK_LOG_LEVEL", "loud"),
        ("TIDEMARK_DEMO", "perhaps"),
        ("TIDEMARK_TOPIC_PREFIX", "a b"),
        ("TIDEMARK_TRUSTED_PROXIES", "nonsense"),
        ("TIDEMARK_TRUSTED_PROXIES", "10.0.0.0/8, 1.2.3.4.5"),
    ],
)
def test_an_invalid_value_is_named_with_its_variable(variable: str, value: str) -> None:
    with pytest.raises(InvalidSetting, match=f"{variable}='{value}'"):
        environment.load_settings({variable: value})


@pytest.mark.parametrize(
    ("variable", "value", "rule"),
    [
        ("COLLECT_PORT", "http", "must be a whole number, at least 1, at most 65535"),
        ("BATCH_SECONDS", "soon", "must be a number, more than 0, at most 60"),
        ("DEMO", "perhaps", "must be 1 or 0 (true or false)"),
        ("LOG_FORMAT", "xml", "must be one of: json, text"),
        ("ENGINE", "foo", "must be like duckdb or trino://user@host:8080/catalog.schema"),
        ("LIMITS_URL", "redis", "must be like redis://host:6379 or rediss://host:6379"),
        ("DATA_DIR", "", "must not be empty"),
    ],
)
def test_the_rule_is_in_words(variable: str, value: str, rule: str) -> None:
    with pytest.raises(InvalidSetting) as raised:
        environment.load_settings({f"TIDEMARK_{variable}": value})

    assert str(raised.value) == f"TIDEMARK_{variable}='{value}' {rule}"


def test_a_child_gets_the_same_settings() -> None:
    mine = Settings(data_dir="/tmp/x", demo=False, workers=3, query_seconds=2.5)

    assert environment.load_settings(environment.to_environment(mine)) == mine


def test_paths_default_to_the_data_folder() -> None:
    mine = Settings(data_dir="/srv/tidemark")

    assert mine.data == Path("/srv/tidemark")
    assert mine.lake_url == "/srv/tidemark/lake"
    assert mine.registry_url == "sqlite:////srv/tidemark/registry.db"
    assert mine.brokers == "127.0.0.1:4092"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("postgresql://tidemark:s3cret@db.example/x", "postgresql://tidemark:***@db.example/x"),
        ("postgresql://t:p@ss/w:rd@db.example/x", "postgresql://t:***@db.example/x"),
        ("postgresql://db/x?sslmode=require&password=a", "postgresql://db/x?sslmode=require&password=***"),
        ("s3://bucket/lake?secret_access_key=b&region=eu", "s3://bucket/lake?secret_access_key=***&region=eu"),
        ("sqlite:////data/registry.db", "sqlite:////data/registry.db"),
        ("10.0.0.1:9092,10.0.0.2:9092", "10.0.0.1:9092,10.0.0.2:9092"),
        ("tidemark:s3cret@10.0.0.1:9092", "tidemark:***@10.0.0.1:9092"),
    ],
)  # fmt: skip
def test_a_password_in_a_url_is_never_shown(value: str, shown: str) -> None:
    assert environment.mask_secrets(value) == shown
    assert environment.to_environment(Settings(registry=value))["TIDEMARK_REGISTRY"] == value


def test_a_setting_with_a_password_may_be_a_file(tmp_path: Path) -> None:
    file = tmp_path / "registry-url"
    file.write_text("postgresql://tidemark:s3cret@db.example/x\n")

    loaded = environment.load_settings({"TIDEMARK_REGISTRY_FILE": str(file)})

    assert loaded.registry == "postgresql://tidemark:s3cret@db.example/x"
    assert not list(environment.unknown_variables({"TIDEMARK_REGISTRY_FILE": str(file)}))


def test_a_child_process_gets_the_same_settings(tmp_path: Path) -> None:
    """With the file of a secret, not with the secret."""
    file = tmp_path / "registry-url"
    file.write_text("postgresql://tidemark:s3cret@db.example/x\n")
    mine = {"TIDEMARK_REGISTRY_FILE": str(file), "TIDEMARK_WORKERS": "3", "OTHER": "1"}

    settings = environment.load_settings(mine)
    child = environment.child_environment(settings, mine)

    assert environment.load_settings(child) == settings
    assert child["OTHER"] == "1"
    assert not any("s3cret" in value for value in child.values())


@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        ({"TIDEMARK_REGISTRY_FILE": "/nowhere"}, "='/nowhere': No such file or directory"),
        (
            {"TIDEMARK_REGISTRY_FILE": "/dev/null", "TIDEMARK_REGISTRY": "sqlite:///x"},
            "TIDEMARK_REGISTRY and TIDEMARK_REGISTRY_FILE are both set; keep one",
        ),
        ({"TIDEMARK_LIMITS_PASSWORD_FILE": "/nope"}, "='/nope': No such file or directory"),
        ({"TIDEMARK_LIMITS_PASSWORD_FILE": "/dev/null"}, "='/dev/null': the file is empty"),
    ],
)
def test_a_file_that_gives_no_setting_is_refused(variables: dict[str, str], reason: str) -> None:
    with pytest.raises(InvalidSetting, match=re.escape(reason)):
        environment.load_settings(variables)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("AWS_S3_ALLOW_UNSAFE_RENAME", "true"),
        ("aws_s3_allow_unsafe_rename", "TRUE"),
        ("AWS_CONDITIONAL_PUT", "disabled"),
        ("AWS_CONDITIONAL_PUT", "dynamo:locks"),
    ],
)
def test_commits_without_conditional_put_are_refused(variable: str, value: str) -> None:
    remote, local = {"TIDEMARK_LAKE": "s3://bucket/lake"}, {"TIDEMARK_LAKE": "/srv/lake"}

    with pytest.raises(InvalidSetting, match=f"^{variable}={value}: commits "):
        environment.load_settings({**remote, variable: value})
    assert environment.load_settings({**local, variable: value}).lake == "/srv/lake"
    assert environment.load_settings({**remote, "AWS_CONDITIONAL_PUT": "etag"})


@pytest.mark.parametrize(
    ("variables", "allowed"),
    [
        ({}, False),
        ({"AWS_ENDPOINT_URL": "https://store.example"}, False),
        ({"AWS_ENDPOINT_URL": "http://store.example"}, True),
        ({"AWS_ENDPOINT": "http://store.example"}, True),
        ({"AWS_ALLOW_HTTP": "true"}, True),
    ],
)
def test_an_endpoint_without_tls_is_allowed_when_it_is_named_so(
    variables: dict[str, str], allowed: bool
) -> None:
    assert environment.allows_http(variables) is allowed
