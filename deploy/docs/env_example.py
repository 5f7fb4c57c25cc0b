"""Writes `deploy/env.example`: every setting with its default, bounds and meaning (`make docs`)."""

from pathlib import Path

from deploy.docs.settings_table import describe_settings
from schemas.runtime.settings import Settings

ENV_EXAMPLE_FILE = Path(__file__).parents[1] / "env.example"

ENV_EXAMPLE_HEADER = """\
# Every setting of Tidemark with its default. Made by `make docs` from schemas/runtime/settings.py.
# To use it: copy it, change what you need, and `set -a; . ./your.env; set +a` before `make run`.
"""


def env_example_text() -> str:
    """The text of the file."""
    lines = [ENV_EXAMPLE_HEADER]
    for one in describe_settings(Settings()):
        bounds = f" ({one.bounds})" if one.bounds else ""
        lines += [f"# {one.meaning}{bounds}", f"#{one.variable}={one.default}", ""]
    return "\n".join(lines)


def main() -> None:
    ENV_EXAMPLE_FILE.write_text(env_example_text())
    print(f"{ENV_EXAMPLE_FILE.name} written")


if __name__ == "__main__":
    main()
