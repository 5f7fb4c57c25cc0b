"""Settings come from the environment, are checked, and can be handed to a child process."""

from pathlib import Path

import pytest

from schemas import settings
from schemas.settings import SettingRefused, Settings


def test_nothing_set_gives_the_defaults() -> None:
    assert settings.load({}) == Settings()


def test_a_variable_is_a_field_in_capitals() -> None:
    loaded = settings.load({"TIDEMARK_COLLECT_PORT": "5000", "TIDEMARK_DEMO": "0", "OTHER": "x"})

    assert (loaded.collect_port, loaded.demo) == (5000, False)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("TIDEMARK_COLLECT_PORT", "0"),
        ("TIDEMARK_COLLECT_PORT", "http"),
        ("TIDEMARK_WORKERS", "-1"),
        ("TIDEMARK_BATCH_SECONDS", "0"),
        ("TIDEMARK_LOG_LEVEL", "loud"),
        ("TIDEMARK_DEMO", "perhaps"),
        ("TIDEMARK_TOPIC_PREFIX", "a b"),
    ],
)
def test_a_refused_value_is_named_with_its_variable(variable: str, value: str) -> None:
    with pytest.raises(SettingRefused, match=f"{variable}='{value}'"):
        settings.load({variable: value})


def test_a_child_gets_the_same_settings() -> None:
    mine = Settings(data_dir="/tmp/x", demo=False, workers=3, query_seconds=2.5)

    assert settings.load(settings.as_environment(mine)) == mine


def test_what_is_not_said_lies_in_the_data_folder() -> None:
    mine = Settings(data_dir="/srv/tidemark")

    assert mine.data == Path("/srv/tidemark")
    assert mine.lake_url == "/srv/tidemark/lake"
    assert mine.registry_url == "sqlite:////srv/tidemark/registry.db"
    assert mine.brokers == "127.0.0.1:4092"


def test_every_setting_is_described() -> None:
    described = {each.variable: each for each in settings.describe(Settings())}

    assert set(described) == {"TIDEMARK_" + n.upper() for n in Settings.__struct_fields__}
    assert all(each.meaning for each in described.values())
    assert described["TIDEMARK_WORKERS"].bounds == "≥ 1, ≤ 64"
