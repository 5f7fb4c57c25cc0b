"""Environment variables: settings are loaded from them and written for child processes."""

import difflib
import os
import re
import typing
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path

import msgspec
from msgspec import inspect

from schemas.runtime.address_rules import ADDRESS_RULES
from schemas.runtime.kafka_access import InvalidKafkaAccess, client_arguments
from schemas.runtime.limits_access import InvalidLimitsAccess, limits_arguments
from schemas.runtime.mail_access import InvalidMailAccess, mail_server
from schemas.runtime.networks import parse_networks
from schemas.runtime.settings import Settings
from schemas.runtime.sign_in_access import (
    InvalidSignInAccess,
    oidc_access,
    proxy_header,
    sign_up_rules,
)

PREFIX = "TIDEMARK_"
OTHER_VARIABLES = ("TIDEMARK_API_KEY", "TIDEMARK_KEY")
"""Variables with the prefix that are read by commands, not by settings."""

FILE_SUFFIX = "_FILE"
"""Behind the name of a variable: its value is the content of that file, as for mounted secrets."""
SECRET_SETTINGS = ("registry", "limits_url", "smtp_url")
"""Settings whose value may contain a password, and may be given as a file."""
NETWORKS = ("trusted_proxies", "webhook_networks")
"""Settings with a list of networks (that of `proxy_networks` belongs to the sign-in)."""

ENDPOINT_VARIABLES = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")

_PASSWORD = re.compile(r"(://[^:/?#]*:|^(?![a-z0-9+]*://)[^:/?#]*:).*@", re.IGNORECASE)
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
    values |= _values_of_files(environ)
    for name, value in values.items():
        try:
            msgspec.convert({name: value}, Settings, strict=False)
        except msgspec.ValidationError:
            raise _invalid(name, value, rule_of(name)) from None
        if value and (rule := ADDRESS_RULES.get(name)) and (problem := rule(value)):
            raise _invalid(name, value, problem)
    settings = msgspec.convert(values, Settings, strict=False)
    for name in NETWORKS:
        _require_networks(name, getattr(settings, name))
    try:
        client_arguments(settings)
        limits_arguments(settings)
        mail_server(settings)
        oidc_access(settings)
        sign_up_rules(settings)
        proxy_header(settings)
    except (
        InvalidKafkaAccess,
        InvalidLimitsAccess,
        InvalidMailAccess,
        InvalidSignInAccess,
    ) as error:
        raise InvalidSetting(str(error)) from None
    if unsafe := unsafe_commits(settings.lake_url, environ):
        raise InvalidSetting(unsafe)
    return settings


def _require_networks(name: str, value: str) -> None:
    try:
        parse_networks(value)
    except ValueError as error:
        raise InvalidSetting(
            f"{PREFIX}{name.upper()}={value!r}: {error}; use addresses or networks such as "
            "10.0.0.0/8, separated by commas"
        ) from None


def _invalid(name: str, value: str, rule: str) -> InvalidSetting:
    return InvalidSetting(f"{PREFIX}{name.upper()}={mask_secrets(value)!r} {rule}")


def _values_of_files(environ: Mapping[str, str]) -> dict[str, str]:
    """The values of settings that are given as files; InvalidSetting when one cannot be read."""
    values = {}
    for name in SECRET_SETTINGS:
        variable = PREFIX + name.upper()
        if not (path := environ.get(variable + FILE_SUFFIX)):
            continue
        if environ.get(variable):
            raise InvalidSetting(f"{variable} and {variable}{FILE_SUFFIX} are both set; keep one")
        try:
            values[name] = Path(path).read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            shown = f"{variable}{FILE_SUFFIX}={path!r}"
            raise InvalidSetting(f"{shown}: {_read_failure(error)}") from None
    return values


def _read_failure(error: OSError | UnicodeDecodeError) -> str:
    return str(error.strerror) if isinstance(error, OSError) else "it is not UTF-8"


def unsafe_commits(lake: str, environ: Mapping[str, str] = os.environ) -> str | None:
    """The variable by which two writers of an object store could overwrite each other's commits."""
    if "://" not in lake or lake.startswith("file://"):
        return None
    for variable, value in environ.items():
        name = variable.upper().removeprefix("AWS_")
        if name == "S3_ALLOW_UNSAFE_RENAME" and value.lower() in ("true", "1"):
            return f"{variable}={value}: commits must be conditional puts; remove the variable"
        if name == "CONDITIONAL_PUT" and value.strip().lower() != "etag":
            return f"{variable}={value}: commits need conditional puts; remove it, or set 'etag'"
    return None


def allows_http(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether the object store is reached without TLS: who names it by `http://` means it."""
    if environ.get("AWS_ALLOW_HTTP", "").lower() in ("true", "1"):
        return True
    return (store_endpoint(environ) or "").startswith("http://")


def store_endpoint(environ: Mapping[str, str] = os.environ) -> str | None:
    """The address of an object store other than AWS."""
    return _first_of(ENDPOINT_VARIABLES, environ)


def store_region(environ: Mapping[str, str] = os.environ) -> str | None:
    """The region of the object store."""
    return _first_of(("AWS_REGION", "AWS_DEFAULT_REGION"), environ)


def _first_of(variables: Iterable[str], environ: Mapping[str, str]) -> str | None:
    return next(filter(None, (environ.get(variable) for variable in variables)), None)


def unknown_variables(environ: Mapping[str, str] = os.environ) -> Iterator[str]:
    """A warning for each variable with our prefix that is not a setting.

    They are not an error: an orchestrator may set variables of its own for a service of this name.
    """
    known = {PREFIX + name.upper() for name in Settings.__struct_fields__} | {*OTHER_VARIABLES}
    known |= {PREFIX + name.upper() + FILE_SUFFIX for name in SECRET_SETTINGS}
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


def child_environment(
    settings: Settings, environ: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """The environment of a child process with these settings.

    Those that are given as files stay in their files.
    """
    in_files = {
        PREFIX + name.upper()
        for name in SECRET_SETTINGS
        if environ.get(PREFIX + name.upper() + FILE_SUFFIX)
    }
    own = {name: value for name, value in to_environment(settings).items() if name not in in_files}
    return {**environ, **own}


Number = inspect.IntType | inspect.FloatType
BOUNDS = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}


@lru_cache(maxsize=1)
def _types() -> dict[str, inspect.Type]:
    hints = typing.get_type_hints(Settings, include_extras=True)
    return {name: inspect.type_info(hint) for name, hint in hints.items()}


def rule_of(name: str) -> str:
    """The rule of a setting, to follow its name: `must be a whole number, at least 1`."""
    kind = _types()[name]
    examples: list[str] = []
    if isinstance(kind, inspect.Metadata):
        examples = list((kind.extra_json_schema or {}).get("examples", ()))
        kind = kind.type
    if isinstance(kind, inspect.BoolType):
        return "must be 1 or 0 (true or false)"
    if isinstance(kind, inspect.LiteralType):
        return f"must be one of: {', '.join(map(str, kind.values))}"
    if isinstance(kind, Number):
        whole = "whole " if isinstance(kind, inspect.IntType) else ""
        return f"must be a {whole}number{_bounds(kind)}"
    return f"must be like {' or '.join(examples)}" if examples else "must not be empty"


def _bounds(kind: Number) -> str:
    bounds = {word: getattr(kind, name) for name, word in BOUNDS.items()}
    return "".join(f", {word} {bound:g}" for word, bound in bounds.items() if bound is not None)
