"""Which language a page is in, and the words of its templates.

The language is `?lang=`, else the reader's `Accept-Language`, else English: no cookie. The templates'
words are gettext messages; `templates/locale/zh.po` translates them and is compiled when the server
starts, so there is nothing to build. Sentences about traces live in `messages`, not here.
"""

import gettext
import io
from functools import lru_cache

from babel.core import negotiate_locale
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

from ..messages import LANGUAGES, Language
from ..resources import resource

LANGUAGE_NAMES: dict[Language, str] = {"en": "English", "zh": "中文"}


def negotiate(asked: str | None, accept_language: str) -> Language:
    """Choose the language of a page.

    Args:
        asked: What the address says, `?lang=`; anything unknown is ignored.
        accept_language: The header of that name.

    >>> negotiate(None, "zh-CN,zh;q=0.9,en;q=0.8")
    'zh'
    >>> negotiate("en", "zh-CN")
    'en'
    """
    for language in LANGUAGES:
        if asked == language:
            return language
    found = negotiate_locale(_by_preference(accept_language), LANGUAGES, sep="-")
    return "zh" if found == "zh" else "en"


@lru_cache(maxsize=4)
def translations(language: Language) -> gettext.NullTranslations:
    """The templates' words in a language. English is what the templates say themselves."""
    if language == "en":
        return gettext.NullTranslations()
    with (resource("templates") / "locale" / f"{language}.po").open("rb") as file:
        catalog = read_po(file, locale=language)
    compiled = io.BytesIO()
    write_mo(compiled, catalog)
    compiled.seek(0)
    return gettext.GNUTranslations(compiled)


def _by_preference(accept_language: str) -> list[str]:
    """Languages of the header, best first. `zh-Hans-CN` also counts as `zh`."""
    weighted: list[tuple[float, str]] = []
    for item in accept_language.split(","):
        tag, _, parameter = item.strip().partition(";")
        weight = parameter.strip().removeprefix("q=") or "1"
        try:
            quality = float(weight)
        except ValueError:
            continue
        if tag and quality > 0:
            weighted.append((-quality, tag.split("-")[0].lower()))
    return [tag for _, tag in sorted(weighted, key=lambda pair: pair[0])]
