"""SpoolFile: what is read is what was written whole; the rest is cut or skipped, and counted."""

from pathlib import Path

import pytest

from ingest.publishing.spool_file import (
    MAGIC,
    SpooledRequest,
    SpoolFile,
    decode_spooled,
    encode_spooled,
    next_whole_request,
    with_idempotency_key,
)
from ingest.publishing.spooling_producer import KEY_BYTES
from schemas.envelope import Envelope, decode_envelope, encode_envelope
from schemas.spool_deliveries import spool_id


def a_request(number: int, filler: int = 0) -> SpooledRequest:
    return SpooledRequest("events", number, 1, 1_000 + number, [b"x" * filler], number)


def a_file(folder: Path, count: int = 3) -> SpoolFile:
    """A file with requests 0, 1, 2 … on disk."""
    file = SpoolFile(folder / "abc.spool")
    file.append(b"".join(encode_spooled(a_request(n)) for n in range(count)))
    file.close()
    return file


def test_requests_are_read_in_order_with_their_numbers(tmp_path: Path) -> None:
    file = a_file(tmp_path)

    assert file.read(1_000_000) == [(n, a_request(n)) for n in range(3)]
    assert file.is_read


def test_a_window_ends_with_a_whole_request_and_a_larger_one_is_read_whole(tmp_path: Path) -> None:
    file = SpoolFile(tmp_path / "abc.spool")
    requests = [a_request(0, 100), a_request(1, 100), a_request(2, 5_000)]
    file.append(b"".join(map(encode_spooled, requests)))

    assert file.read(300) == [(0, requests[0]), (1, requests[1])]
    assert file.read(300) == [(2, requests[2])]
    assert file.is_read
    file.close()


@pytest.mark.parametrize("torn", [1, 7, 9, 20])
def test_a_torn_end_is_cut_off_and_counted(tmp_path: Path, torn: int) -> None:
    path = a_file(tmp_path).path
    whole = path.read_bytes()
    path.write_bytes(whole + encode_spooled(a_request(3, 100))[:torn])

    file = SpoolFile(path)

    assert file.recover(set()) == ({("events", n) for n in range(3)}, torn)
    assert [request for _, request in file.read(1_000_000)] == [a_request(n) for n in range(3)]
    assert path.read_bytes() == whole


@pytest.mark.parametrize("damaged_byte", [0, 3, 5, 8, 9, 60], ids=str)
@pytest.mark.parametrize("max_bytes", [16, 1_000_000])
def test_what_follows_a_damaged_request_is_read_with_its_numbers(
    tmp_path: Path, damaged_byte: int, max_bytes: int
) -> None:
    path = tmp_path / "abc.spool"
    written = [encode_spooled(a_request(n, 200)) for n in range(4)]
    live = SpoolFile(path)
    live.append(b"".join(written))
    live.close()
    data = bytearray(path.read_bytes())
    for number in (1, 2):
        start = len(MAGIC) + sum(map(len, written[:number]))
        data[start + damaged_byte] ^= 0x81
    path.write_bytes(data)
    recovered = SpoolFile(path)

    assert recovered.recover({2}) == ({("events", 0), ("events", 3)}, 0)
    assert (recovered.requests, recovered.undelivered) == (4, 3)
    for file, damaged in ((live, 2), (recovered, 1)):
        read = []
        while not file.is_read:
            read += file.read(max_bytes)
        assert read == [(0, a_request(0, 200)), (3, a_request(3, 200))]
        assert file.damaged == damaged


def test_a_file_with_a_damaged_head_keeps_its_requests(tmp_path: Path) -> None:
    path = a_file(tmp_path).path
    path.write_bytes(b"?" + path.read_bytes()[1:])
    file = SpoolFile(path)

    assert file.recover(set()) == ({("events", n) for n in range(3)}, 0)


def test_a_request_with_a_wrong_checksum_is_none(tmp_path: Path) -> None:
    path = a_file(tmp_path).path
    data = bytearray(path.read_bytes())
    data[-1] ^= 1  # of the last request
    path.write_bytes(data)

    file = SpoolFile(path)

    assert file.recover(set())[1] == len(encode_spooled(a_request(2)))
    assert file.read(1_000_000) == [(0, a_request(0)), (1, a_request(1))]


@pytest.mark.parametrize("content", [b"", MAGIC[:5], b"something else"])
def test_a_file_without_its_head_has_no_requests(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "abc.spool"
    path.write_bytes(content)
    file = SpoolFile(path)

    assert file.recover(set()) == (set(), len(content))
    assert file.is_read


def test_requests_that_were_delivered_before_are_left_out(tmp_path: Path) -> None:
    file = SpoolFile(a_file(tmp_path).path)

    assert file.recover({0, 2}) == ({("events", 1)}, 0)
    assert file.undelivered == 1
    assert file.read(1_000_000) == [(1, a_request(1))]


def test_a_length_beyond_any_request_is_not_followed() -> None:
    assert list(decode_spooled(b"\xff" * 64)) == []


def test_text_that_looks_like_beginnings_of_requests_is_passed_over_without_copies() -> None:
    text = ("\u6560" * 100_000).encode()  # E6 95 A0: 0x95 and 0xA0 begin a request
    whole = encode_spooled(a_request(1))

    assert next_whole_request(text, 0) is None
    assert next_whole_request(text + whole, 0) == len(text)


def test_a_key_has_no_more_bytes_than_are_counted_for_it() -> None:
    plain = encode_envelope(Envelope("shop", "acme", 1, 1, b"[{}]"))
    longest = f"spool:{spool_id('0123456789ab-999999', 999_999_999)}"

    assert len(with_idempotency_key(plain, longest)) - len(plain) <= KEY_BYTES


def test_an_envelope_gets_a_key_unless_its_sender_gave_one() -> None:
    plain = encode_envelope(Envelope("shop", "acme", 1, 1, b"[{}]"))
    keyed = encode_envelope(Envelope("shop", "acme", 1, 1, b"[{}]", idempotency_key="theirs"))

    assert decode_envelope(with_idempotency_key(plain, "ours")).idempotency_key == "ours"
    assert with_idempotency_key(keyed, "ours") == keyed


def test_after_a_failed_write_the_file_is_as_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = SpoolFile(tmp_path / "abc.spool")
    file.append(encode_spooled(a_request(0)))
    before = file.path.read_bytes()

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fdatasync", full)
    with pytest.raises(OSError, match="No space"):
        file.append(encode_spooled(a_request(1)))

    assert (file.path.read_bytes(), file.failed) == (before, True)
