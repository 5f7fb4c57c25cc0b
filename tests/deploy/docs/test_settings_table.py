"""Settings as people see them."""

from deploy.docs.settings_table import describe_settings
from schemas.runtime.settings import Settings


def test_every_setting_is_described() -> None:
    described = {each.variable: each for each in describe_settings(Settings())}

    assert set(described) == {"TIDEMARK_" + n.upper() for n in Settings.__struct_fields__}
    assert all(each.meaning for each in described.values())
    assert described["TIDEMARK_WORKERS"].bounds == "≥ 1, ≤ 64"


def test_a_password_is_never_in_the_table() -> None:
    table = describe_settings(Settings(registry="postgresql://tide:geheim@db.example/tide"))

    assert "geheim" not in str([*table])
