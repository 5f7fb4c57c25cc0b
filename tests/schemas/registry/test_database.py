"""Connections to the registry."""

import pytest
import sqlalchemy as sa

from schemas.registry.database import create_engine


def test_errors_never_show_the_password_of_the_database() -> None:
    for url in ("postgresql://u:hidden@word@h:x/d", "postgresql:/u:hidden@h/d", "u:hidden@h"):
        with pytest.raises(sa.exc.ArgumentError) as error:
            create_engine(url)
        assert "hidden" not in str(error.value)
        assert error.value.__cause__ is None
