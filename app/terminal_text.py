"""Strangers' text made harmless for a terminal. It does not decide what is said."""

import unicodedata

_TAB = "    "


def visible(text: str) -> str:
    r"""Make control characters harmless, so that a program cannot command the terminal.

    Args:
        text: Anything a program said.

    Returns:
        The same with tabs as spaces and other control characters as `\x1b`.

    >>> visible("a\x1b[2Jb\tc")
    'a\\x1b[2Jb    c'
    """
    return "".join(_visible(char) for char in text.replace("\r\n", "\n"))


def _visible(char: str) -> str:
    if char == "\n":
        return char
    if char == "\t":
        return _TAB
    # Cc: control; Cf: format, bidirectional overrides among them; Cs: lone surrogates.
    if unicodedata.category(char) in ("Cc", "Cf", "Cs"):
        return char.encode("unicode_escape", "surrogatepass").decode()
    return char
