"""The words a reader sees, in each language: catalogues of messages and the formatter.

What is said about a trace is decided in `explaining`; here it only gets its words.
"""

from .format import LANGUAGES, Language, Part, Style, catalogue, parts_of, text_of

__all__ = ["LANGUAGES", "Language", "Part", "Style", "catalogue", "parts_of", "text_of"]
