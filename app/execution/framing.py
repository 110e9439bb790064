"""Bytes of a child → chunks of a trace: bounded, strict, nothing but JSON.

A frame is its length in four little-endian bytes, then a payload: UTF-8 JSON of
one `Chunk`. The first frame is empty and says that the child is confined; it is
sent before the program is looked at. Whether chunks follow each other as they
should is for `assembly`, why a run ended for `verdict`.
"""

import struct

from pydantic import TypeAdapter, ValidationError

from ..errors import ReplyInvalid, RequestInvalid
from ..schema import Chunk, RunRequest

_LENGTH = struct.Struct("<I")
_CHUNK: TypeAdapter[Chunk] = TypeAdapter(Chunk)


class FrameDecoder:
    """Cuts a stream of bytes into frames, and refuses more than it was told to expect."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._seen_bytes = 0
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """Take bytes as they arrive; give back the payloads that are now complete.

        Raises:
            ReplyInvalid: The stream, or a length it announces, passes the limit.

        >>> decoder = FrameDecoder(limit_bytes=100)
        >>> decoder.feed(b"\\x02\\x00\\x00\\x00{}\\x05\\x00"), decoder.is_between_frames
        ([b'{}'], False)
        """
        self._seen_bytes += len(data)
        if self._seen_bytes > self._limit_bytes:
            raise ReplyInvalid(f"it is longer than {self._limit_bytes:,} bytes")
        self._buffer += data
        payloads = []
        while len(self._buffer) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._buffer)
            end = _LENGTH.size + length
            if end > self._limit_bytes:
                raise ReplyInvalid(f"a frame of {length:,} bytes is announced")
            if len(self._buffer) < end:
                break
            payloads.append(bytes(self._buffer[_LENGTH.size : end]))
            del self._buffer[:end]
        return payloads

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
