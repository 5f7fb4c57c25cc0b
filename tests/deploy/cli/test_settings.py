"""tidemark settings: invalid and unknown settings, and what is printed."""

from collections.abc import Callable
from typing import Any

from deploy.docs.env_example import ENV_EXAMPLE_FILE, env_example_text
from schemas.runtime.settings import Settings
from tests.deploy.cli.command_result import Run


def test_a_bad_setting_is_one_line(run: Run) -> None:
    done = run("up", TIDEMARK_QUERY_PORT="0")

    assert (done.code, done.err) == (
        2,
        "tidemark: TIDEMARK_QUERY_PORT='0' must be a whole number, at least 1, at most 65535\n",
    )


def test_a_variable_that_no_setting_reads_is_named(run: Run) -> None:
    done = run("settings", TIDEMARK_COLECT_PORT="4100", TIDEMARK_SERVICE_PORT_TRACK="10.0.0.1")

    assert (done.code, done.err) == (
        0,
        "tidemark: TIDEMARK_COLECT_PORT is not a known setting and is ignored;"
        " did you mean TIDEMARK_COLLECT_PORT?\n"
        "tidemark: TIDEMARK_SERVICE_PORT_TRACK is not a known setting and is ignored\n",
    )


def test_settings_never_print_a_password(run: Run) -> None:
    url = "postgresql://tidemark:s3cret@127.0.0.1/registry"

    result = run("settings", TIDEMARK_REGISTRY=url)

    assert "s3cret" not in result.out
    assert "TIDEMARK_REGISTRY=postgresql://tidemark:***@127.0.0.1/registry" in result.out


def test_settings_shows_every_setting(run: Run, ask: Callable[..., Any]) -> None:
    variables = [f"TIDEMARK_{name.upper()}" for name in Settings.__struct_fields__]

    assert [one["variable"] for one in ask("settings")] == variables
    assert all(f"{variable}=" in run("settings").out for variable in variables[:3])


def test_the_example_of_the_environment_is_what_the_settings_say() -> None:
    assert ENV_EXAMPLE_FILE.read_text() == env_example_text(), "run `make docs`"
    assert all(
        f"#TIDEMARK_{name.upper()}=" in env_example_text() for name in Settings.__struct_fields__
    )
