"""A frame → chunks of a bounded size, however large the frame is.

A child may send all its steps in one frame. To check it at once would keep the server from everybody else,
and so would all that is done with so large a chunk later; a reader of a stream would see nothing until the
end. A large frame therefore becomes several chunks that say the same. What is wrong in one of them leaves
those before it standing.
"""

from collections.abc import Iterator

from pydantic import ValidationError

from ..errors import ReplyInvalid
from ..schema import Chunk, Closing, Opening, Steps
from ..schema.slices import SLICE_BYTES, item_of, members_of, object_of, record_of, slices_of
from .framing import decode_chunk

_TABLES = ("names", "views", "ranges", "routes", "sites")
"""In this order: a row of one refers to rows of those before it."""

_WHOLE: dict[bytes, type[Opening] | type[Closing]] = {b'"opening"': Opening, b'"closing"': Closing}


def pieces_of(payload: bytes) -> Iterator[Chunk]:
    """The chunks of a frame; between two of them others may have a turn.

    Raises:
        ReplyInvalid: As `decode_chunk`, after the chunks that stand before the fault.
    """
    if len(payload) <= SLICE_BYTES:
        yield decode_chunk(payload)
        return
    try:
        members = members_of(payload)
        kind = _WHOLE.get(members.get("kind", b""))
        if kind is not None:
            yield record_of(kind, payload)
            return
        parted = {name: members[name] for name in (*_TABLES, "steps") if name in members}
        rest = decode_chunk(object_of(members | dict.fromkeys(parted, b"[]")))
        if not isinstance(rest, Steps):
            raise ReplyInvalid("a frame is not a chunk (1 faults)")
        yield rest  # it says what runs, and may have nothing else
        for name, text in parted.items():
            for some in slices_of(item_of(Steps, name), text):
                yield rest.model_copy(update={name: some})
    except ValidationError as e:
        raise ReplyInvalid(f"a frame is not a chunk ({e.error_count()} faults)") from e
    except (ValueError, RecursionError, MemoryError) as e:
        raise ReplyInvalid(f"a frame cannot be read ({type(e).__name__})") from e
