"""A lesson: predict, lock in, see; and the player beside the text."""

import re

from playwright.sync_api import Route, expect

from .conftest import Open, visit

LESSON = "/lessons/one-storage?lang=en"


def test_a_prediction_is_locked_in_and_the_figure_goes_on(open_page: Open) -> None:
    page = open_page(LESSON)
    question = page.locator("#question-transpose")
    figure = page.locator("trace-player").first
    expect(figure.locator(".position")).to_have_text("2 / 2")
    answer = question.locator(".question-answer")
    expect(answer).to_be_hidden()
    assert "Only the metadata" not in page.content()

    question.get_by_role("checkbox", name=re.compile("^Data")).check()
    question.get_by_role("checkbox", name="Metadata").check()
    question.get_by_role("button", name="Lock in and reveal").click()

    expect(answer).to_contain_text("Only the metadata.")
    expect(answer).to_be_focused()
    expect(question.locator(".question-hint")).to_have_text("3 of 4 right.")
    data, metadata = (question.locator(f'[data-choice="{layer}"]') for layer in ("data", "metadata"))
    expect(data).to_have_class(re.compile("wrong"))
    expect(data).to_contain_text("No float is written or copied")
    expect(metadata).to_have_class(re.compile("right"))
    expect(question.get_by_role("checkbox").first).to_be_disabled()
    expect(question.get_by_role("button")).to_have_count(0)
    expect(figure.locator(".position")).to_have_text(re.compile(r"[34] / 4"))
    expect(figure.locator(".line.now .line-source")).to_have_text(re.compile(r"y = x\.t\(\)|y\[0, 1\] = 30"))


def test_skipping_shows_the_answer_too(open_page: Open) -> None:
    page = open_page(LESSON)
    question = page.locator("#question-who-sees-zeros")
    question.get_by_role("button", name="Skip").click()
    expect(question.locator(".question-answer")).to_contain_text("Only a.")
    expect(question.locator('[data-choice="a"]')).to_contain_text("basic slicing: a view")
    expect(question.locator(".question-hint")).to_have_text("Skipped. This is the answer.")
    expect(question.locator(".missed")).to_have_count(0)


def test_a_right_choice_that_was_not_ticked_is_marked_as_missed(open_page: Open) -> None:
    page = open_page(LESSON)
    question = page.locator("#question-transpose")
    question.get_by_role("button", name="Lock in and reveal").click()
    missed = question.locator('[data-choice="metadata"]')
    expect(missed).to_have_class(re.compile("missed"))
    expect(missed).to_contain_text("○ yes, and you missed it")
    expect(question.locator(".question-hint")).to_have_text("3 of 4 right.")


def test_keys_step_the_player_that_has_the_focus_and_no_other(open_page: Open) -> None:
    page = open_page(LESSON)
    first, second = page.locator("trace-player").nth(0), page.locator("trace-player").nth(1)
    expect(second.locator(".position")).to_have_text("3 / 3")

    second.get_by_role("button", name="Previous step").focus()
    page.keyboard.press("ArrowLeft")
    expect(second.locator(".position")).to_have_text("2 / 3")
    expect(first.locator(".position")).to_have_text("2 / 2")
    second.get_by_role("button", name="Next step").click()
    expect(second.locator(".position")).to_have_text("3 / 3")


def test_the_parts_can_be_reached_from_the_list(open_page: Open) -> None:
    page = open_page(LESSON)
    page.get_by_role("navigation", name="Parts of this lesson").get_by_role(
        "link", name="Which indexing copies?"
    ).click()
    expect(page.get_by_role("heading", name="Which indexing copies?")).to_be_in_viewport()


def test_a_figure_can_be_taken_to_the_playground(open_page: Open) -> None:
    page = open_page(LESSON)
    page.get_by_role("link", name="Try it in the playground").first.click()
    expect(page.locator(".line-source").last).to_have_text("y[0, 1] = 30")
    expect(page.locator(".position")).to_have_text("Step 4 of 4")


def test_a_figure_has_the_lenses_of_the_playground_and_keys_that_reach_it_alone(open_page: Open) -> None:
    page = open_page(LESSON)
    first, second = page.locator("trace-player").nth(0), page.locator("trace-player").nth(1)
    first.locator(".code-body").focus()
    page.keyboard.press("b")
    expect(first.locator(".lens[data-lens=bytes] .bytes-observed")).to_contain_text("In memory")
    expect(second.locator(".lens:visible")).to_have_count(0)
    page.keyboard.press("w")
    expect(first.locator(".lens[data-lens=whatif]")).to_contain_text("What if")
    first.get_by_role("button", name="Kept by").click()
    expect(first.locator(".held-group").first).to_contain_text("x")
    first.get_by_role("button", name="All storages").click()
    expect(first.locator(".lens")).to_be_hidden()


def test_a_line_of_a_lesson_opens_into_its_operations_and_the_run_is_a_table(open_page: Open) -> None:
    page = open_page(LESSON)
    figure = page.locator("trace-player").first
    figure.locator(".code-body").focus()
    page.keyboard.press("e")
    expect(figure.locator(".ladder:visible")).to_contain_text("aten::arange")
    page.keyboard.press("t")
    sheet = page.get_by_role("dialog")
    expect(sheet.locator("tbody tr")).to_have_count(2)
    page.keyboard.press("Escape")
    figure.get_by_role("button", name="Text").click()
    expect(sheet).to_be_visible()


def test_writes_and_sharing_of_a_storage_are_told_and_a_key_away(open_page: Open) -> None:
    page = open_page(LESSON)
    question = page.locator("#question-transpose")
    question.get_by_role("button", name="Lock in and reveal").click()
    figure = page.locator("trace-player").first
    expect(figure.locator(".position")).to_have_text(re.compile("/ 4"))
    figure.locator(".life-opener").click()
    words = figure.locator(".life-words")
    expect(words).to_contain_text("S1 made by line 2")
    expect(words).to_contain_text("Written once, by line 4.")
    expect(words).to_contain_text("Shared by x and y from line 3 on.")
    page.keyboard.press("End")
    for key, place in ((",", "2 / 4"), (".", "4 / 4"), (".", "4 / 4")):
        page.keyboard.press(key)
        expect(figure.locator(".position")).to_have_text(place)
    expect(figure.locator(".life-next")).to_have_attribute("aria-disabled", "true")


def test_what_a_figure_gets_later_moves_nothing_that_stands_there(open_page: Open) -> None:
    page = open_page("/about", own=True)
    held: list[Route] = []
    page.route("**/dist/chunks/figures-*", lambda route: held.append(route))
    visit(page, LESSON)
    there = "els => els.map(el => { const b = el.getBoundingClientRect(); return [b.x, b.y, b.height] })"
    parts = page.locator("trace-player").first.locator(".line-source, .cell, .changes-panel, .player-steps")
    before = parts.evaluate_all(there)
    expect(page.locator(".lens-buttons")).to_have_count(0)
    held[0].continue_()
    expect(page.locator("trace-player").first.locator(".lens-buttons")).to_be_visible()
    assert parts.evaluate_all(there) == before
