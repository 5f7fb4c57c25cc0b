"""Environment variables: settings are loaded from them and written for child processes."""

import difflib
import os
import re
from collections.abc import Iterator, Mapping

import msgspec

from schemas.runtime.networks import parse_networks
from schemas.runtime.settings import Settings

PREFIX = "TIDEMARK_"
OTHER_VARIABLES = ("TIDEMARK_API_KEY", "TIDEMARK_KEY")
"""Variables with the prefix that are read by commands, not by settings."""

_PASSWORD = re.compile(r"(://[^:/?#]*:).*@")
_SECRET = re.compile(r"([?&;][a-z_]*(?:pass|pwd|secret|token|key)[a-z_]*=)[^&;]*", re.IGNORECASE)


class InvalidSetting(Exception):
    """A variable has a value that its setting does not allow."""


def load_settings(environ: Mapping[str, str] = os.environ) -> Settings:
    """Load the settings from the environment; InvalidSetting names the variable and the rule."""
    values = {
        name: environ[variable]
        for name in Settings.__struct_fields__
        if (variable := PREFIX + name.upper()) in environ
    }
    for name, value in values.items():
        try:
            msgspec.convert({name: value}, Settings, strict=False)
        except msgspec.ValidationError as error:
            reason = str(error).split(" - at ")[0]
            masked = mask_secrets(value)
            raise InvalidSetting(f"{PREFIX}{name.upper()}={masked!r}: {reason}") from None
    settings = msgspec.convert(values, Settings, strict=False)
    try:
        parse_networks(settings.trusted_proxies)
    except ValueError as error:
        name = f"{PREFIX}TRUSTED_PROXIES"
        raise InvalidSetting(f"{name}={settings.trusted_proxies!r}: {error}") from None
    return settings


def unknown_variables(environ: Mapping[str, str] = os.environ) -> Iterator[str]:
    """A warning for each variable with our prefix that is not a setting.

    They are not an error: an orchestrator may set variables of its own for a service of this name.
    """
    known = {PREFIX + name.upper() for name in Settings.__struct_fields__} | {*OTHER_VARIABLES}
    for variable in sorted(environ):
        if variable.startswith(PREFIX) and variable not in known:
            similar = difflib.get_close_matches(variable, known, n=1, cutoff=0.8)
            hint = f"; did you mean {similar[0]}?" if similar else ""
            yield f"{variable} is not a known setting and is ignored{hint}"


def mask_secrets(value: str) -> str:
    """The value with passwords and tokens of URLs masked."""
    return _SECRET.sub(r"\1***", _PASSWORD.sub(r"\1***@", value))


def to_environment(settings: Settings) -> dict[str, str]:
    """The variables from which `load_settings` loads the same settings, for a child process."""
    return {PREFIX + n.upper(): str(getattr(settings, n)) for n in Settings.__struct_fields__}
