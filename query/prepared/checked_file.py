"""Files of a header and compressed blocks, each with a checksum: what is not whole is not used.

The checksum of the header covers the path of the file, so that no file is read in place of another.
"""

import struct
import zlib
from typing import IO

from msgspec import Struct

HEAD = struct.Struct("<8sIII")
"""Magic, bytes of the header as text and as it is stored, checksum of these and of the latter."""
CODEC = "zstd"


class Damaged(Exception):
    """The bytes are not those of a whole file."""


UNREADABLE = (
    OSError,
    Damaged,
    ValueError,  # of msgspec, too
    KeyError,
    IndexError,
    TypeError,
    NotImplementedError,  # of pyarrow
    OverflowError,
    MemoryError,
)
"""What reading a file may raise that is not what was written, although its checksums fit."""


class Block(Struct, frozen=True, array_like=True):
    """What a header says of a block."""

    size: int
    """Bytes, uncompressed."""
    stored_size: int
    checksum: int


def pack(raw: bytes) -> tuple[Block, bytes]:
    """A block, and its bytes as they are stored."""
    from pyarrow import compress  # large; services that prepare nothing go without it

    stored = compress(raw, CODEC, asbytes=True)
    return Block(len(raw), len(stored), zlib.crc32(stored)), stored


def read_block(file: IO[bytes], block: Block) -> bytes:
    """The bytes of a block that begins here; Damaged when they are not whole."""
    from pyarrow import decompress  # as in `pack`

    stored = file.read(block.stored_size)
    if len(stored) != block.stored_size or zlib.crc32(stored) != block.checksum:
        raise Damaged("a block")
    raw: bytes = decompress(stored, block.size, CODEC, asbytes=True) if block.size else b""
    return raw


def write_header(
    file: IO[bytes], magic: bytes, path: str, text: bytes, level: int | None = None
) -> None:
    """Write the header; a higher compression level finds texts that stand twice."""
    from pyarrow import Codec  # as in `pack`

    stored = Codec(CODEC, compression_level=level).compress(text, asbytes=True)
    file.write(HEAD.pack(magic, len(text), len(stored), _checksum(path, len(text), stored)))
    file.write(stored)


def read_header(file: IO[bytes], magic: bytes, path: str) -> bytes:
    """The text of the header, behind which the blocks begin; Damaged when it is another file."""
    from pyarrow import decompress  # as in `pack`

    head = file.read(HEAD.size)
    if len(head) < HEAD.size:
        raise Damaged("too short")
    found, text_size, size, checksum = HEAD.unpack(head)
    stored = file.read(size)
    if found != magic or len(stored) != size or _checksum(path, text_size, stored) != checksum:
        raise Damaged("another header")
    text: bytes = decompress(stored, text_size, CODEC, asbytes=True)
    return text


def _checksum(path: str, text_size: int, stored: bytes) -> int:
    """Of the file's path, what is allocated for the header, and the stored header."""
    return zlib.crc32(stored, zlib.crc32(path.encode(), text_size))
