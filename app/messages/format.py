r"""Turns a message id and its arguments into a sentence of one language.

The catalogues `en.json` and `zh.json` map ids to messages; every word a reader sees, on a page or
in a terminal, is in them. This module does not decide what is said. Its twin for the browser is
`static/src/model/messages.ts`; both pass the table `tests/data/messages.json`.

A message is text with:
    {name}                                     the argument; an array is joined as a list
    {name, number}                             12,345
    {name, bytes}                              48 B · 20 KiB · 4 MiB · 1.5 GiB
    {name, plural, =0 {…} one {…} other {…}}   by number (or length of an array); # is the number
    {name, select, new {…} other {…}}          by string
    `code`  **strong**                         style of a part; arguments are never read as markup
    \{ \} \` \* \# \\                          the character itself

A formatter never fails: an unknown id gives the id, a missing argument gives `{name}`. Exported
pages outlive catalogues.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple

Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = ("en", "zh")
Style = Literal["plain", "code", "strong"]

_LONGEST_LIST = 5
_SHOWN_OF_LONG_LIST = 4
_UNITS = (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))
"""Powers of 1,024, as PyTorch's own messages count."""
_MARKS: dict[str, Style] = {"`": "code", "**": "strong"}


class Part(NamedTuple):
    """A run of characters of one style."""

    text: str
    style: Style


class Words(NamedTuple):
    """Text of the message itself."""

    text: str


class Mark(NamedTuple):
    """Where a style begins or ends."""

    style: Style


class Argument(NamedTuple):
    """A placeholder: `kind` is `plain`, `number`, `bytes`, `plural`, `select` or `count` (the `#`)."""

    name: str
    kind: str
    branches: "Mapping[str, Message]"


Piece = Words | Mark | Argument
Message = tuple[Piece, ...]


class MessageSyntaxError(ValueError):
    """A message of a catalogue is malformed. Only tests meet it."""


@lru_cache(maxsize=4)
def catalogue(language: Language) -> dict[str, str]:
    """Read all messages of a language.

    Args:
        language: `en` or `zh`.

    Returns:
        Message by id.
    """
    text = files(__package__).joinpath(f"{language}.json").read_text(encoding="utf-8")
    messages: dict[str, str] = json.loads(text)
    return messages


def text_of(language: Language, message_id: str, args: Mapping[str, Any]) -> str:
    """Say a message in plain text, without its styles.

    Args:
        language: `en` or `zh`.
        message_id: Id in the catalogues.
        args: Values of the placeholders.

    Returns:
        The sentence.

    >>> text_of("en", "list.more", {"n": 3})
    '3 more'
    """
    return "".join(part.text for part in parts_of(language, message_id, args))


def parts_of(language: Language, message_id: str, args: Mapping[str, Any]) -> list[Part]:
    """Say a message as parts with styles.

    Args:
        language: `en` or `zh`.
        message_id: Id in the catalogues.
        args: Values of the placeholders.

    Returns:
        Parts in order; neighbours differ in style.
    """
    messages = catalogue(language)
    if message_id not in messages:
        return [Part(message_id, "plain")]
    return format_parts(messages[message_id], args, messages)


def format_parts(message: str, args: Mapping[str, Any], lists: Mapping[str, str]) -> list[Part]:
    """Format one message.

    Args:
        message: The message, in the syntax above.
        args: Values of the placeholders.
        lists: Messages `list.comma`, `list.and`, `list.more` and `list.and-more` (before `list.more`; else
            `list.and`), which join arrays.

    Returns:
        Parts in order; neighbours differ in style.
    """
    out: list[Part] = []
    _render(parse(message), args, lists, "plain", out)
    merged: list[Part] = []
    for part in out:
        if merged and merged[-1].style == part.style:
            merged[-1] = Part(merged[-1].text + part.text, part.style)
        elif part.text:
            merged.append(part)
    return merged


def placeholders(message: str) -> set[str]:
    """Name the arguments whose values a message shows, in any of its branches.

    What a plural or a select only decides by is not one: languages decide by different things.

    Args:
        message: The message.

    Returns:
        Names.

    >>> sorted(placeholders("{n, plural, one {cell} other {# cells}} of {how, select, x {{name}} other {}}"))
    ['n', 'name']
    """

    def walk(pieces: Message) -> Iterable[str]:
        for piece in pieces:
            if isinstance(piece, Argument):
                if not piece.branches:
                    yield piece.name
                for branch in piece.branches.values():
                    yield from walk(branch)

    return set(walk(parse(message)))


def _render(
    pieces: Message, args: Mapping[str, Any], lists: Mapping[str, str], style: Style, out: list[Part]
) -> Style:
    for piece in pieces:
        if isinstance(piece, Words):
            out.append(Part(piece.text, style))
        elif isinstance(piece, Mark):
            style = "plain" if style == piece.style else piece.style
        elif piece.name not in args:
            out.append(Part("{" + piece.name + "}", style))
        elif piece.kind in ("plural", "select"):
            style = _render(_branch(piece, args[piece.name]), args, lists, style, out)
        else:
            out.extend(_insert(args[piece.name], piece.kind, lists, style))
    return style


def _branch(piece: Argument, value: Any) -> Message:
    if piece.kind == "select":
        return piece.branches.get(_word(value), piece.branches["other"])
    n = _count(value)
    if f"={n}" in piece.branches:
        return piece.branches[f"={n}"]
    return piece.branches.get("one" if n == 1 else "other", piece.branches["other"])


def _insert(value: Any, kind: str, lists: Mapping[str, str], style: Style) -> list[Part]:
    if kind == "count":
        return [Part(_grouped(_count(value)), style)]
    if isinstance(value, Sequence) and not isinstance(value, str):
        return _joined([_word(item) for item in value], lists, style)
    if kind == "number" and isinstance(value, int):
        return [Part(_grouped(value), style)]
    if kind == "bytes" and isinstance(value, int):
        return [Part(_bytes(value), style)]
    return [Part(_word(value), style)]


def _joined(items: list[str], lists: Mapping[str, str], style: Style) -> list[Part]:
    """Join as "x, y and z"; of a long list the first four and how many more."""
    words = [Part(item, style) for item in items]
    if len(items) > _LONGEST_LIST:
        more = format_parts(lists["list.more"], {"n": len(items) - _SHOWN_OF_LONG_LIST}, lists)
        words = [*words[:_SHOWN_OF_LONG_LIST], Part("".join(part.text for part in more), "plain")]
    out: list[Part] = []
    for i, word in enumerate(words):
        if i:
            last = "list.and-more" if len(items) > _LONGEST_LIST and "list.and-more" in lists else "list.and"
            out.append(Part(lists[last if i == len(words) - 1 else "list.comma"], "plain"))
        out.append(word)
    return out


def _count(value: Any) -> int:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return len(value)
    try:
        return int(value)
    except (TypeError, ValueError):
        return 0


def _word(value: Any) -> str:
    return "None" if value is None else str(value)


def _grouped(n: int) -> str:
    return f"{n:,}"


def _bytes(n: int) -> str:
    """Bytes in a unit that keeps them short; exact below 10,000."""
    if n < 10_000:
        return f"{_grouped(n)} B"
    unit, size = next((unit, size) for unit, size in _UNITS if n >= size)
    tenths = (n * 10 + size // 2) // size
    whole = _grouped(tenths // 10)
    return f"{whole} {unit}" if tenths % 10 == 0 or tenths >= 1000 else f"{whole}.{tenths % 10} {unit}"


@lru_cache(maxsize=4096)
def parse(message: str) -> Message:
    """Read the syntax of a message.

    Args:
        message: The message.

    Returns:
        Its pieces.

    Raises:
        MessageSyntaxError: A brace is not closed, or a plural or select has no `other`.
    """
    pieces, end = _parse_text(message, 0, None)
    if end != len(message):
        raise MessageSyntaxError(f"unexpected '}}' at {end} in {message!r}")
    return pieces


def _parse_text(message: str, at: int, counted: str | None) -> tuple[Message, int]:
    """Read pieces until the end or a closing brace. `counted` is the argument that `#` stands for."""
    pieces: list[Piece] = []
    text = ""

    def flush() -> None:
        nonlocal text
        if text:
            pieces.append(Words(text))
            text = ""

    while at < len(message) and message[at] != "}":
        char = message[at]
        mark = next((mark for mark in _MARKS if message.startswith(mark, at)), None)
        if char == "\\" and at + 1 < len(message):
            text += message[at + 1]
            at += 2
        elif mark:
            flush()
            pieces.append(Mark(_MARKS[mark]))
            at += len(mark)
        elif char == "#" and counted:
            flush()
            pieces.append(Argument(counted, "count", {}))
            at += 1
        elif char == "{":
            flush()
            piece, at = _parse_argument(message, at + 1, counted)
            pieces.append(piece)
        else:
            text += char
            at += 1
    flush()
    return tuple(pieces), at


def _parse_argument(message: str, at: int, counted: str | None) -> tuple[Argument, int]:
    end = _closing(message, at)
    name, _, rest = message[at:end].partition(",")
    kind, _, body = rest.partition(",")
    name, kind = name.strip(), kind.strip() or "plain"
    if kind not in ("plural", "select"):
        if body or kind not in ("plain", "number", "bytes") or not name.isidentifier():
            raise MessageSyntaxError(f"bad placeholder {{{message[at:end]}}}")
        return Argument(name, kind, {}), end + 1
    branches: dict[str, Message] = {}
    spot = end - len(body)
    while message[spot:end].strip():
        opening = message.index("{", spot, end)
        branch, closing = _parse_text(message, opening + 1, name if kind == "plural" else counted)
        branches[message[spot:opening].strip()] = branch
        spot = closing + 1
    if "other" not in branches:
        raise MessageSyntaxError(f"no 'other' in {{{message[at:end]}}}")
    return Argument(name, kind, branches), end + 1


def _closing(message: str, at: int) -> int:
    """Find the brace that closes the one before `at`."""
    depth = 1
    while at < len(message):
        if message[at] == "\\":
            at += 1
        elif message[at] == "{":
            depth += 1
        elif message[at] == "}":
            depth -= 1
            if depth == 0:
                return at
        at += 1
    raise MessageSyntaxError(f"a brace is not closed in {message!r}")
