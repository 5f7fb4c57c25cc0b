"""Writes `deploy/env.example`: every setting with its default, bounds and meaning (`make docs`)."""

from pathlib import Path

from deploy.docs.settings_table import describe
from schemas.runtime.settings import Settings

FILE = Path(__file__).parents[1] / "env.example"

HEAD = """\
# Every setting of Tidemark with its default. Made by `make docs` from schemas/runtime/settings.py.
# To use it: copy it, change what you need, and `set -a; . ./your.env; set +a` before `make run`.
"""


def example() -> str:
    """The text of the file."""
    lines = [HEAD]
    for one in describe(Settings()):
        bounds = f" ({one.bounds})" if one.bounds else ""
        lines += [f"# {one.meaning}{bounds}", f"#{one.variable}={one.default}", ""]
    return "\n".join(lines)


def main() -> None:
    FILE.write_text(example())
    print(f"{FILE.name} written")


if __name__ == "__main__":
    main()
