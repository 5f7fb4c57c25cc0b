"""Kinds of parts beside each other."""

from query.prepared.part_kinds import KINDS, LOADS, SEQUENCES, TABLES, TOTALS, VITALS, kinds_beside


def test_kinds_of_the_same_data_files() -> None:
    assert {*kinds_beside(TOTALS)} == {TOTALS, SEQUENCES, LOADS}
    assert kinds_beside(VITALS) == [VITALS]


def test_names_of_kinds_and_tables_are_told_apart() -> None:
    assert len({table.name for table in TABLES}) == len(TABLES)
    assert not any("-" in kind for kind in KINDS)  # what follows in names of files
