"""Every setting with variable, value, default, bounds and meaning."""

import typing
from collections.abc import Iterator
from typing import Literal

import msgspec
from msgspec import Meta, Struct

from schemas.runtime.environment import PREFIX, mask_secrets
from schemas.runtime.settings import Settings


class SettingRow(Struct, frozen=True):
    """One setting as `tidemark settings` shows it."""

    variable: str
    value: str
    default: str
    bounds: str
    meaning: str


def describe_settings(settings: Settings) -> Iterator[SettingRow]:
    """Every setting: variable, value, default, bounds, meaning."""
    hints = typing.get_type_hints(Settings, include_extras=True)
    for field in msgspec.structs.fields(Settings):
        metas = list(_constraints(hints[field.name]))
        yield SettingRow(
            variable=PREFIX + field.name.upper(),
            value=mask_secrets(str(getattr(settings, field.name))),
            default=str(field.default),
            bounds=_bounds(hints[field.name], metas),
            meaning=next(
                (m.description for m in metas if m.description), "minimum level of log messages"
            ),
        )


def _constraints(hint: object) -> Iterator[Meta]:
    for extra in getattr(hint, "__metadata__", ()):
        if isinstance(extra, Meta):
            yield extra


def _bounds(hint: object, metas: list[Meta]) -> str:
    words = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}
    if typing.get_origin(hint) is Literal:
        return " | ".join(typing.get_args(hint))
    limits = [
        f"{w} {v}" for m in metas for a, w in words.items() if (v := getattr(m, a)) is not None
    ]
    return ", ".join(limits)
