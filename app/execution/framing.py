"""Bytes of a child → chunks of a trace: bounded, strict, nothing but JSON.

A frame is its length in four little-endian bytes, then a payload: UTF-8 JSON of
one `Chunk`. The first frame is empty and says that the child is confined; it is
sent before the program is looked at. Whether chunks follow each other as they
should is for `assembly`, why a run ended for `verdict`.
"""

import struct
from collections.abc import Iterator

from pydantic import TypeAdapter, ValidationError

from ..errors import ReplyInvalid, RequestInvalid
from ..schema import Chunk, RunRequest

_LENGTH = struct.Struct("<I")
_CHUNK: TypeAdapter[Chunk] = TypeAdapter(Chunk)


class FrameDecoder:
    """Cuts a stream of bytes into frames. How long the stream may be is for its reader to watch."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Take bytes as they arrive; yield the payloads that are now complete.

        Raises:
            ReplyInvalid: A frame is announced that passes the limit. Those before it were yielded.

        >>> decoder = FrameDecoder(limit_bytes=100)
        >>> list(decoder.feed(b"\\x02\\x00\\x00\\x00{}\\x05\\x00")), decoder.is_between_frames
        ([b'{}'], False)
        """
        self._buffer += data
        while len(self._buffer) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._buffer)
            end = _LENGTH.size + length
            if end > self._limit_bytes:
                raise ReplyInvalid(f"a frame of {length:,} bytes is announced")
            if len(self._buffer) < end:
                return
            payload = bytes(self._buffer[_LENGTH.size : end])
            del self._buffer[:end]
            yield payload

    @property
    def is_between_frames(self) -> bool:
        """No frame has begun that is not complete."""
        return not self._buffer


def encode_request(request: RunRequest) -> bytes:
    """A request as the bytes that travel to the child.

    Raises:
        RequestInvalid: The program is not text that UTF-8 can carry.
    """
    try:
        return request.model_dump_json().encode()
    except ValueError as e:
        raise RequestInvalid(
            "The program holds half of a character (a lone surrogate), which no file can hold. "
            "Type that character anew."
        ) from e


def decode_chunk(payload: bytes) -> Chunk:
    """Parse one frame.

    Raises:
        ReplyInvalid: It is not UTF-8, not JSON, nested too deeply, or not a chunk.
    """
    try:
        return _CHUNK.validate_json(payload, strict=True)
    except ValidationError as e:
        raise ReplyInvalid(f"a frame is not a chunk ({e.error_count()} faults)") from e
    except (ValueError, RecursionError, MemoryError) as e:
        raise ReplyInvalid(f"a frame cannot be read ({type(e).__name__})") from e
