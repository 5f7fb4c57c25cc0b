"""Rows of CSV texts: their lines, and quotes that are not closed."""

import io

import pytest

from deploy.importer.csv_rows import MAX_FIELD_CHARACTERS, InvalidFile, csv_rows


def rows(text: str) -> list[tuple[int, list[str]]]:
    return list(csv_rows(iter(io.StringIO(text, newline="")), ","))


def test_rows_have_the_number_of_their_last_line() -> None:
    assert rows('a,b\n1,"x\ny"\n\n2,z') == [
        (1, ["a", "b"]),
        (3, ["1", "x\ny"]),
        (4, []),
        (5, ["2", "z"]),
    ]


@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
@pytest.mark.parametrize("end", ["", "\n", "\n\n\n"])
def test_a_quote_that_is_never_closed_is_named_by_its_line(line_break: str, end: str) -> None:
    text = 'a,b\n1,x\n"2\n2","y\n' + "3,z\n" * 20_000 + "4,z" + end

    with pytest.raises(InvalidFile, match=r"^line 4: a quote opens there and is never closed"):
        rows(text.replace("\n", line_break))


def test_a_quote_in_the_last_line_is_named_too() -> None:
    with pytest.raises(InvalidFile, match=r"^line 2: a quote opens there"):
        rows('a,b\n1,"x')


def test_a_cell_beyond_the_limit_is_named_by_the_line_of_its_row() -> None:
    with pytest.raises(InvalidFile, match=r"^line 3 cannot be read: field larger than"):
        rows('a,b\n1,x\n2,"' + "y\n" * MAX_FIELD_CHARACTERS)
