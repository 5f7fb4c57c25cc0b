"""Files of a header and blocks: what is not whole is refused."""

from io import BytesIO

import pytest

from query.prepared.index_store import pack, read_block, read_header, write_header
from query.prepared.rollup_file import Damaged

MAGIC, PATH = b"TESTFILE", "a/file"
TEXT, RAW = b"a header" * 9, bytes(range(256)) * 5


def written() -> tuple[bytes, int]:
    """A file, and where its block begins."""
    file = BytesIO()
    write_header(file, MAGIC, PATH, TEXT)
    begin = file.tell()
    file.write(pack(RAW)[1])
    return file.getvalue(), begin


def test_header_and_block_are_read_as_they_were_written() -> None:
    file = BytesIO(written()[0])

    assert read_header(file, MAGIC, PATH) == TEXT
    assert read_block(file, pack(RAW)[0]) == RAW


def test_an_empty_block_has_no_bytes() -> None:
    block, stored = pack(b"")

    assert read_block(BytesIO(stored), block) == b""


def test_every_changed_byte_and_every_cut_is_noticed() -> None:
    content, begin = written()
    changed = [
        content[:i] + bytes([content[i] ^ 1]) + content[i + 1 :] for i in range(len(content))
    ]
    cut = [content[:i] for i in range(len(content))]

    for i, harmed in [*enumerate(changed), *enumerate(cut)]:
        file = BytesIO(harmed)
        if i < begin:
            with pytest.raises(Damaged):
                read_header(file, MAGIC, PATH)
        else:
            assert read_header(file, MAGIC, PATH) == TEXT
            with pytest.raises(Damaged):
                read_block(file, pack(RAW)[0])


def test_the_header_of_another_kind_of_file_is_refused() -> None:
    with pytest.raises(Damaged, match="another header"):
        read_header(BytesIO(written()[0]), b"OTHERONE", PATH)


def test_a_file_is_not_read_in_place_of_another() -> None:
    with pytest.raises(Damaged, match="another header"):
        read_header(BytesIO(written()[0]), MAGIC, "another/file")
