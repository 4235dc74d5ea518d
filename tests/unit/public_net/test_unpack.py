"""A body is unpacked within a bound, whatever it is packed to (WEB-01)."""

import gzip
import zlib

import pytest

from public_net import BadPacking, Unpacker

pytestmark = pytest.mark.requirement("WEB-01")
LIMIT = 1000


def raw(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


PACKED = {
    "": b"hello" * 9,
    "identity": b"hello" * 9,
    "gzip": gzip.compress(b"hello" * 9),
    " X-GZIP ": gzip.compress(b"hello" * 9),
    "deflate": zlib.compress(b"hello" * 9),
    "deflate ": raw(b"hello" * 9),
}


@pytest.mark.parametrize("encoding", PACKED)
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_body_is_unpacked_in_pieces_of_any_size(encoding: str, size: int) -> None:
    unpacker, packed = Unpacker(encoding, LIMIT), PACKED[encoding]
    parts = [unpacker.feed(packed[at : at + size]) for at in range(0, len(packed), size)]
    assert (b"".join(parts), unpacker.overflowed) == (b"hello" * 9, False)


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_exactly_the_limit_fits_and_a_byte_more_overflows(pack: type[bytes]) -> None:
    for length, overflows in ((LIMIT, False), (LIMIT + 1, True), (50 * LIMIT, True)):
        unpacker = Unpacker("" if pack is bytes else "gzip", LIMIT)
        assert unpacker.feed(pack(b"x" * length)) == b"x" * LIMIT
        assert unpacker.overflowed is overflows


def test_a_bomb_costs_no_more_than_the_limit() -> None:
    bomb = gzip.compress(bytes(20 << 20))
    unpacker = Unpacker("gzip", LIMIT)
    assert len(unpacker.feed(bomb)) == LIMIT
    assert unpacker.overflowed
    assert unpacker.feed(bomb) == b""


def test_packed_bytes_that_unpack_to_nothing_end_at_the_limit_too() -> None:
    unpacker = Unpacker("gzip", LIMIT)
    unpacker.feed(gzip.compress(b"")[:10])
    for _ in range(300):
        unpacker.feed(b"\0\0\0\xff\xff")  # an empty block
    assert unpacker.overflowed


def test_files_in_a_row_are_one_body_but_not_any_number_of_them() -> None:
    assert Unpacker("gzip", LIMIT).feed(gzip.compress(b"a") + gzip.compress(b"b")) == b"ab"
    with pytest.raises(BadPacking, match="too many pieces"):
        Unpacker("gzip", 1 << 20).feed(gzip.compress(b"") * 200)


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip", "compress", "x" * 100])
def test_what_wasnt_asked_for_isnt_unpacked(encoding: str) -> None:
    with pytest.raises(BadPacking, match="which wasn't asked for"):
        Unpacker(encoding, LIMIT)


def test_what_isnt_packed_as_it_says_is_an_error() -> None:
    with pytest.raises(BadPacking, match="isn't gzip, as it says"):
        Unpacker("gzip", LIMIT).feed(b"<html>plain</html>")
