"""The pages: home, lessons, playground, about, security. What they show; `templating` tells templates.

No sandbox is touched here: lessons work when no program can be run.
"""

from collections.abc import Iterator
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from markupsafe import Markup
from starlette.exceptions import HTTPException

from ..lessons.catalog import Catalog, Lesson
from ..lessons.markdown import Check, Part, Player, Prose
from ..lessons.programs import Program
from ..lessons.questions import LAYERS, Question, until
from ..messages import LANGUAGES, Language
from ..schema import Limits
from .addresses import base_url
from .figures import step_figure
from .picture import home_picture
from .plotting import Charts
from .runner import Runner
from .templating import (
    AboutPage,
    BlockView,
    ChoiceView,
    ExampleLink,
    HomePage,
    LessonCard,
    LessonPage,
    LessonsPage,
    PartView,
    PlayerView,
    PlaygroundPage,
    QuestionView,
    SecurityPage,
    Templates,
    data_block,
)
from .words import words_of_charts

_HOME = ("one-storage.transpose", ("x", "y"))
"""The program of the home page's picture, and the two names it shows."""


class Pages:
    """The pages' routes and what they need."""

    def __init__(
        self,
        catalog: Catalog,
        templates: Templates,
        runner: Runner,
        *,
        charts: Charts | None,
        limits: Limits,
        source_bytes: int,
        public_url: str | None,
        unsafe: bool,
        keeps_results: bool,
    ) -> None:
        self._catalog = catalog
        self._templates = templates
        self._runner = runner
        self._charts = charts
        self._limits = limits
        self._source_bytes = source_bytes
        self._public_url = public_url
        self._unsafe = unsafe
        self._keeps_results = keeps_results

    def router(self) -> APIRouter:
        """The routes."""
        router = APIRouter(include_in_schema=False)
        for path, page in (
            ("/", self.home),
            ("/lessons", self.lessons),
            ("/lessons/{slug}", self.lesson),
            ("/lessons/{slug}/answers/{question}", self.answer),
            ("/playground", self.playground),
            ("/playground/words/{language}.json", self.chart_words),
            ("/about", self.about),
            ("/security", self.security),
            ("/traces/{file_name}", self.trace),
        ):
            router.add_api_route(path, page, methods=["GET", "HEAD"], response_class=Response)
        return router

    @property
    def no_sandbox(self) -> str | None:
        """Why programs are not run here; None when they are."""
        status = self._runner.status()
        return (status.reason or "") if status.state == "unavailable" else None

    async def home(self, request: Request) -> Response:
        """What this is."""
        key, names = _HOME
        program = self._catalog.program(key)
        if program is None:  # another folder of lessons: it has no picture for the home page
            return await self.lessons(request)
        picture = home_picture(self._catalog.recordings.read(program), names)
        page = HomePage(
            picture=picture,
            same=picture.same,
            lesson=f"/lessons/{program.lesson}",
            lessons=len(self._catalog.lessons),
        )
        return self._respond(request, page)

    async def lessons(self, request: Request) -> Response:
        """All lessons."""
        language = self._templates.language(request)
        cards = tuple(_card(lesson, language) for lesson in self._catalog.lessons)
        return self._respond(request, LessonsPage(lessons=cards))

    async def lesson(self, request: Request, slug: str) -> Response:
        """One lesson. `?question=…&choice=…` shows the answer of a question without JavaScript."""
        lesson = self._found(slug)
        language = self._templates.language(request)
        position = self._catalog.lessons.index(lesson)
        following = self._catalog.lessons[position + 1 : position + 2]
        text = lesson.texts[language]
        page = LessonPage(
            slug=slug,
            title=text.title,
            goal=text.goal,
            number=position + 1,
            count=len(self._catalog.lessons),
            parts=tuple(self._part(request, lesson, part) for part in text.parts),
            sources=text.sources,
            oembed=f"/oembed?{urlencode({'url': f'{base_url(request, self._public_url)}/lessons/{slug}'})}",
            following=_card(following[0], language) if following else None,
        )
        return self._respond(request, page)

    async def answer(self, request: Request, slug: str, question: str) -> JSONResponse:
        """The answer to a question, for a reader who has locked in."""
        lesson = self._found(slug)
        language = self._templates.language(request)
        found = lesson.questions(language).get(question)
        if found is None:
            raise HTTPException(404)
        program = lesson.programs[found.program]
        trace = self._catalog.recordings.read(program)
        right = found.answer(trace)
        return JSONResponse(
            {
                "question": found.id,
                "answer": right,
                "choices": {
                    choice: {"right": choice in right, "feedback": found.feedback.get(choice, "")}
                    for choice in found.choices
                },
                "explanation": found.explanation,
                "src": f"/traces/{program.file_name}",
                "step": found.reveal_step(trace),
            },
            headers={"Cache-Control": "no-store", "Vary": "Accept-Language", "Content-Language": language},
        )

    async def chart_words(self, language: str) -> Response:
        """What the sheet of charts says: the page itself does not carry it."""
        if language not in LANGUAGES:
            raise HTTPException(404)
        return JSONResponse(words_of_charts(language), headers={"Cache-Control": "no-cache"})

    async def playground(self, request: Request) -> Response:
        """The playground, with an example in it: `?example=…`, or `?program=…` of a lesson."""
        language = self._templates.language(request)
        query = request.query_params
        examples = {example.program.name: example for example in self._catalog.examples}
        program = self._catalog.program(query.get("program", ""))
        if program is None:
            chosen = examples.get(query.get("example", "")) or next(iter(examples.values()), None)
            if chosen is None:
                raise HTTPException(404)
            program = chosen.program
        trace = self._catalog.recordings.read(program)
        page = PlaygroundPage(
            charts=self._charts,
            examples=data_block(
                [
                    {
                        "id": name,
                        "key": example.program.key,
                        "title": example.titles[language],
                        "source": example.program.source,
                        "src": f"/traces/{example.program.file_name}",
                    }
                    for name, example in examples.items()
                ]
            ),
            pairs=data_block(
                [
                    {
                        "id": pair.id,
                        "title": pair.titles[language],
                        **{
                            side: {"source": program.source, "src": f"/traces/{program.file_name}"}
                            for side, program in (("left", pair.left), ("right", pair.right))
                        },
                    }
                    for pair in self._catalog.pairs
                ]
            ),
            links=tuple(
                ExampleLink(f"/playground?example={name}", example.titles[language])
                for name, example in examples.items()
            ),
            player=self._player("player", program, language, len(trace.steps), None),
            limits=data_block(
                {
                    "source_bytes": self._source_bytes,
                    "wall_s": self._limits.wall_s,
                    "run": self.no_sandbox is None,
                    "reason": self.no_sandbox,
                    "ask": self._unsafe,
                    "devices": list(self._runner.status().devices),
                }
            ),
        )
        return self._respond(request, page)

    async def about(self, request: Request) -> Response:
        """What is done with a program."""
        status = self._runner.status()
        page = AboutPage(
            torch=status.torch,
            layers=status.layers,
            wall_s=self._limits.wall_s,
            memory_mib=self._limits.memory_bytes // 2**20,
            source_kib=self._source_bytes // 1024,
            steps=self._limits.steps_kept,
            keeps_results=self._keeps_results,
        )
        return self._respond(request, page)

    async def security(self, request: Request) -> Response:
        """What is promised of the sandbox, and what is not."""
        status = self._runner.status()
        page = SecurityPage(
            profile=status.profile,
            layers=status.layers,
            wall_s=self._limits.wall_s,
            cpu_s=self._limits.cpu_s,
            memory_mib=self._limits.memory_bytes // 2**20,
            output_mib=self._limits.stdout_bytes / 2**20,
            keeps_results=self._keeps_results,
            gpu=status.gpu,
        )
        return self._respond(request, page)

    async def trace(self, request: Request, file_name: str) -> Response:
        """A recorded trace. `?until=N`: its first N steps, for a question that is still open."""
        program = self._catalog.recorded(file_name)
        if program is None:
            raise HTTPException(404)
        trace = self._catalog.recordings.read(program)
        step = request.query_params.get("until")
        if step is not None:
            if not step.isdecimal() or len(step) > 6 or int(step) > len(trace.steps):
                raise HTTPException(404)
            trace = until(trace, int(step))
        return Response(
            trace.model_dump_json(by_alias=True),
            media_type="application/json",
            # The name holds a hash of the program, not of the trace: a new torch records it anew.
            headers={"Cache-Control": "public, max-age=300"},
        )

    def _respond(
        self,
        request: Request,
        page: HomePage | LessonsPage | LessonPage | PlaygroundPage | AboutPage | SecurityPage,
    ) -> Response:
        return self._templates.respond(request, page, no_sandbox=self.no_sandbox)

    def _found(self, slug: str) -> Lesson:
        lesson = self._catalog.lesson(slug)
        if lesson is None:
            raise HTTPException(404)
        return lesson

    def _player(
        self, identifier: str, program: Program, language: Language, step: int, focus: str | None
    ) -> PlayerView:
        trace = self._catalog.recordings.read(program)
        return PlayerView(
            id=identifier,
            src=f"/traces/{program.file_name}",
            step=step,
            focus=focus,
            playground=f"/playground?program={program.key}",
            figure=step_figure(trace, step, language),
        )

    def _part(self, request: Request, lesson: Lesson, part: Part) -> PartView:
        blocks = list(self._blocks(request, lesson, part))
        return PartView(
            id=part.id,
            title=part.title,
            text=tuple(block for block in blocks if block.player is None),
            figures=tuple(block for block in blocks if block.player is not None),
        )

    def _blocks(self, request: Request, lesson: Lesson, part: Part) -> Iterator[BlockView]:
        language = self._templates.language(request)
        questions = {block.program: block for block in part.blocks if isinstance(block, Question)}
        for block in part.blocks:
            if isinstance(block, Prose):
                yield BlockView(prose=Markup(block.html))
            elif isinstance(block, Player):
                question = questions.get(block.program)
                yield BlockView(player=self._lesson_player(request, lesson, block, question, language))
            elif isinstance(block, Question):
                yield BlockView(question=self._question(request, lesson, block))
            else:
                assert isinstance(block, Check)  # for the tests, not for readers

    def _lesson_player(
        self, request: Request, lesson: Lesson, block: Player, question: Question | None, language: Language
    ) -> PlayerView:
        program = lesson.programs[block.program]
        trace = self._catalog.recordings.read(program)
        step = len(trace.steps) if block.step is None else block.step
        if question is None:
            return self._player(f"player-{program.name}", program, language, step, block.focus)
        if _locked_in(request, question):
            step = question.reveal_step(trace)
            return self._player(f"player-{program.name}", program, language, step, block.focus)
        step = question.ask_step(trace)
        return PlayerView(
            id=f"player-{program.name}",
            src=f"/traces/{program.file_name}?until={step}",
            step=step,
            focus=block.focus,
            playground=f"/playground?program={program.key}",
            figure=step_figure(until(trace, step), step, language),
        )

    def _question(self, request: Request, lesson: Lesson, question: Question) -> QuestionView:
        language = self._templates.language(request)
        revealed = _locked_in(request, question)
        ticked = request.query_params.getlist("choice") if revealed else []
        right = question.answer(self._catalog.recordings.read(lesson.programs[question.program]))
        query = f"?lang={language}" if "lang" in request.query_params else ""
        # A lesson is ours and was rendered without raw HTML, so its texts are markup.
        return QuestionView(
            id=question.id,
            ask=Markup(question.ask),
            choices=tuple(
                ChoiceView(
                    id=choice,
                    layer=choice in LAYERS,
                    ticked=choice in ticked,
                    right=choice in right if revealed else None,
                    feedback=Markup(question.feedback.get(choice, "")) if revealed else None,
                )
                for choice in question.choices
            ),
            score=sum((choice in ticked) == (choice in right) for choice in question.choices),
            action=f"/lessons/{lesson.slug}#question-{question.id}",
            answers=f"/lessons/{lesson.slug}/answers/{question.id}{query}",
            player=f"player-{question.program}",
            revealed=revealed,
            skipped=revealed and "skip" in request.query_params,
            explanation=Markup(question.explanation) if revealed else None,
        )


def _locked_in(request: Request, question: Question) -> bool:
    return request.query_params.get("question") == question.id


def _card(lesson: Lesson, language: Language) -> LessonCard:
    text = lesson.texts[language]
    return LessonCard(
        url=f"/lessons/{lesson.slug}",
        title=text.title,
        goal=text.goal,
        teaches=text.teaches,
        questions=len(lesson.questions(language)),
    )
