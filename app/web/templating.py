"""One dataclass per page: all a template may use, beside `frame`, which every page has.

Templates decide nothing: what is shown is decided in `pages` and `embed`. The words are gettext
messages, so there is one Jinja environment per language.
"""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse

from ..messages import LANGUAGES, Language
from ..resources import resource
from .assets import Assets
from .figures import StepFigure
from .languages import LANGUAGE_NAMES, negotiate, translations
from .picture import HomePicture
from .plotting import Charts
from .runner import GpuStatus
from .words import words_of_pages, words_of_playground

THEMES = ("light", "dark")


@dataclass(frozen=True)
class LanguageLink:
    """The same page in a language."""

    code: Language
    name: str
    short: str
    url: str
    current: bool


@dataclass(frozen=True)
class Frame:
    """What every page has around it."""

    language: Language
    languages: tuple[LanguageLink, ...]
    theme: str | None
    """What the address asks for; None follows the reader's system."""

    section: str
    """First part of the path: which link of the header is the current one."""

    chosen: bool
    """The language stands in the address, so it must stand in the links too."""

    no_sandbox: str | None
    """Why programs are not run here; None when they are."""

    unsafe: bool
    """Programs are run without a sandbox."""

    assets: Assets

    def static(self, name: str) -> str:
        """Address of a built file."""
        return self.assets.url(name)

    def link(self, path: str, **query: str) -> str:
        """Address of a page of ours, in the language the reader chose."""
        if self.chosen:
            query = {**query, "lang": self.language}
        path, hash_, place = path.partition("#")
        joint = "&" if "?" in path else "?"
        return (f"{path}{joint}{urlencode(query)}" if query else path) + hash_ + place

    @property
    def messages(self) -> Markup:
        """The player's words, for a data block of the page."""
        return _messages(self.language)

    @property
    def playground_messages(self) -> Markup:
        """The same without those of lessons."""
        return _playground_messages(self.language)


@dataclass(frozen=True, kw_only=True)
class Page:
    """What a template is given."""

    template: ClassVar[str]


@dataclass(frozen=True, kw_only=True)
class HomePage(Page):
    """What this is, in five seconds."""

    template: ClassVar[str] = "home.html"
    picture: HomePicture
    same: tuple[str, int, str, str]
    """What the last line wrote: the element it names, its cell, who else reads the cell, the value."""

    lesson: str
    """Address of the lesson the picture is from."""

    lessons: int
    """How many there are."""


@dataclass(frozen=True)
class LessonCard:
    """A lesson in the list."""

    url: str
    title: str
    goal: str
    teaches: tuple[str, ...]
    questions: int


@dataclass(frozen=True, kw_only=True)
class LessonsPage(Page):
    """All lessons."""

    template: ClassVar[str] = "lessons.html"
    lessons: tuple[LessonCard, ...]


@dataclass(frozen=True)
class PlayerView:
    """A player with what stands in it until its script has loaded."""

    id: str
    src: str
    """Address of its trace."""

    step: int
    focus: str | None
    playground: str
    """Address of the playground with this program."""

    figure: StepFigure


@dataclass(frozen=True)
class ChoiceView:
    """Something the reader can tick."""

    id: str
    layer: bool
    """It is one of the four layers; else a name."""

    ticked: bool
    right: bool | None
    """None until the reader locks in."""

    feedback: Markup | None


@dataclass(frozen=True)
class QuestionView:
    """A question, before or after the reader locked in."""

    id: str
    ask: Markup
    choices: tuple[ChoiceView, ...]
    action: str
    answers: str
    """Address that sends the answer."""

    player: str
    """Id of the player whose figure it hides."""

    revealed: bool
    skipped: bool
    """The reader asked for the answer without giving one."""

    score: int
    """Choices that are as they should be, ticked or not."""

    explanation: Markup | None


@dataclass(frozen=True)
class BlockView:
    """A piece of a lesson: one of the three is there."""

    prose: Markup | None = None
    player: PlayerView | None = None
    question: QuestionView | None = None


@dataclass(frozen=True)
class PartView:
    """A part of a lesson: what is read, and the figures beside it."""

    id: str
    title: str
    text: tuple[BlockView, ...]
    figures: tuple[BlockView, ...]


@dataclass(frozen=True, kw_only=True)
class LessonPage(Page):
    """One lesson."""

    template: ClassVar[str] = "lesson.html"
    slug: str
    title: str
    goal: str
    number: int
    count: int
    parts: tuple[PartView, ...]
    sources: tuple[str, ...]
    oembed: str
    following: LessonCard | None


@dataclass(frozen=True)
class ExampleLink:
    """An example program."""

    url: str
    title: str


@dataclass(frozen=True, kw_only=True)
class PlaygroundPage(Page):
    """The playground: a player that can also run programs."""

    template: ClassVar[str] = "playground.html"
    charts: Charts | None
    """Where the plotting library is; None where there is none."""

    examples: Markup
    """JSON for a data block: id, key, title, source and the address of the recorded trace."""

    pairs: Markup
    """JSON for a data block: id, title and both programs of what the page offers to compare."""

    links: tuple[ExampleLink, ...]
    player: PlayerView
    limits: Markup
    """JSON for a data block: `source_bytes`, `wall_s`, the devices, whether programs are run, and why not."""


@dataclass(frozen=True, kw_only=True)
class AboutPage(Page):
    """What is done with a program, and where facts come from."""

    template: ClassVar[str] = "about.html"
    torch: str | None
    layers: tuple[str, ...]
    wall_s: float
    memory_mib: int
    source_kib: int
    steps: int
    keeps_results: bool
    """Traces are kept for whoever runs the same program again."""


@dataclass(frozen=True, kw_only=True)
class SecurityPage(Page):
    """What is promised of the sandbox, and what is not."""

    template: ClassVar[str] = "security.html"
    profile: str | None
    layers: tuple[str, ...]
    wall_s: float
    cpu_s: int
    memory_mib: int
    output_mib: float
    keeps_results: bool
    gpu: GpuStatus | None
    """The sandbox of programs that use a real GPU, where the operator asked for one."""


@dataclass(frozen=True)
class EmbedOptions:
    """What the address of an embed asks for."""

    view: str
    code: bool
    controls: bool
    chrome: str
    autoheight: bool


@dataclass(frozen=True, kw_only=True)
class EmbedPage(Page):
    """The player alone."""

    template: ClassVar[str] = "embed.html"
    title: str
    options: EmbedOptions
    player: PlayerView | None
    """None: the program is in the address, after the hash."""

    open: str
    """Where the title bar leads."""

    host: str
    """Shown beside a program that a reader pasted."""

    messages: Markup
    """JSON for a data block: the words the player can come to say."""

    words: str | None
    """Address of the words that further features need; None when the page has them all."""

    oembed: str | None


@dataclass(frozen=True, kw_only=True)
class ErrorPage(Page):
    """A page for what cannot be shown."""

    template: ClassVar[str] = "error.html"
    status: int
    fault: str | None
    """Id of a fault of ours."""


@dataclass(frozen=True, kw_only=True)
class DocsPage(Page):
    """The API, from its own OpenAPI document."""

    template: ClassVar[str] = "docs.html"
    address: str
    """Of the server, as this reader reaches it."""

    version: str
    operations: tuple[Mapping[str, Any], ...]
    schemas: tuple[Mapping[str, Any], ...]


class Templates:
    """Renders pages.

    Args:
        assets: Built files.
        unsafe: Programs are run without a sandbox, and every page says so.
    """

    def __init__(self, assets: Assets, *, unsafe: bool = False) -> None:
        self._assets = assets
        self._unsafe = unsafe
        self._environments = {language: _environment(language) for language in LANGUAGES}

    def language(self, request: Request) -> Language:
        """The language a request asks for."""
        return negotiate(request.query_params.get("lang"), request.headers.get("accept-language", ""))

    def respond(
        self, request: Request, page: Page, *, no_sandbox: str | None = None, status: int = 200
    ) -> HTMLResponse:
        """Render a page.

        Args:
            request: What was asked for; its language and theme are used.
            page: The page.
            no_sandbox: Why programs are not run here; None when they are.
            status: HTTP status.
        """
        frame = self._frame(request, no_sandbox)
        fields = {field.name: getattr(page, field.name) for field in dataclasses.fields(page)}
        html = self._environments[frame.language].get_template(page.template).render(frame=frame, **fields)
        headers = {
            "Content-Language": frame.language,
            "Vary": "Accept-Language",
            "Cache-Control": "no-cache",
        }
        return HTMLResponse(html, status, headers)

    def _frame(self, request: Request, no_sandbox: str | None) -> Frame:
        language, query = self.language(request), request.query_params
        theme = query.get("theme")
        return Frame(
            language=language,
            languages=tuple(
                LanguageLink(
                    code=code,
                    name=LANGUAGE_NAMES[code],
                    short="EN" if code == "en" else LANGUAGE_NAMES[code],
                    url=f"{request.url.path}?{urlencode({**query, 'lang': code})}",
                    current=code == language,
                )
                for code in LANGUAGES
            ),
            theme=theme if theme in THEMES else None,
            section=request.url.path.strip("/").split("/")[0],
            chosen=query.get("lang") in LANGUAGES,
            no_sandbox=no_sandbox,
            unsafe=self._unsafe,
            assets=self._assets,
        )


def render(language: Language, template: str, **fields: object) -> str:
    """Render a template that is no page of the server: it has no request and no `frame`.

    Args:
        language: Of its words.
        template: Its name.
        **fields: All it uses.
    """
    return _environment(language).get_template(template).render(**fields)


def data_block(value: object) -> Markup:
    """JSON for `<script type="application/json">`: nothing in it can end the element.

    >>> data_block({"a": "</script>"})
    Markup('{"a":"\\\\u003c/script\\\\u003e"}')
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


@lru_cache(maxsize=4)
def _messages(language: Language) -> Markup:
    return data_block(words_of_pages(language))


@lru_cache(maxsize=4)
def _playground_messages(language: Language) -> Markup:
    return data_block(words_of_playground(language))


MARKS: dict[Language, dict[str, str]] = {
    "en": {"gap": " ", "comma": ", ", "stop": ".", "opening": " (", "closing": ")"},
    "zh": {"gap": "", "comma": "、", "stop": "。", "opening": "（", "closing": "）"},
}
"""What templates put between sentences and around asides: full-width marks have their own space."""


def _environment(language: Language) -> Environment:
    environment = Environment(
        loader=FileSystemLoader(resource("templates")),
        extensions=["jinja2.ext.i18n"],
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    # Added to the environment by the extension; Jinja's types do not know it.
    install = environment.install_gettext_translations  # type: ignore[attr-defined]
    install(translations(language), newstyle=True)
    environment.globals.update(MARKS[language])
    return environment
