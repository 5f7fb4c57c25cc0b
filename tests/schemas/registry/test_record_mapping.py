"""Columns of records: a text stays a text."""

from typing import Literal

import pytest
from msgspec import inspect

from schemas.registry.record_mapping import _column_type


def test_a_literal_is_refused_for_it_would_be_stored_as_json() -> None:
    with pytest.raises(TypeError, match="would be stored as JSON"):
        _column_type(inspect.type_info(Literal["line", "bar"]))
