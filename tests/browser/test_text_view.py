"""The whole run as a table, one key away: read, searched, left for a step, kept as a file."""

from playwright.sync_api import expect

from .conftest import Open, run

LONG = "x = 0\nfor i in range(150):\n    x = x + i\n    y = x * 2\n    z = y - 1\nprint(x)\n"


def test_the_run_is_a_table_one_key_away(open_page: Open) -> None:
    page = open_page("/playground?lang=en#step=7")
    page.get_by_role("button", name="Next step").focus()
    page.keyboard.press("t")
    sheet = page.get_by_role("dialog", name="The run as text")
    expect(sheet.get_by_role("columnheader")).to_have_text(
        ["Step", "Line", "Code", "Data", "Metadata", "Autograd", "Device"]
    )
    rows = sheet.locator("tbody").get_by_role("row")
    expect(rows).to_have_count(9)
    current = sheet.locator("tr[aria-current=step]")
    expect(current).to_contain_text("4 of 12 values in storage S1 overwritten in place")
    expect(current).to_be_in_viewport()
    expect(rows.nth(8)).to_contain_text("backward() needs x as it was")

    sheet.get_by_label("Search").fill("overwritten")
    expect(rows).to_have_count(1)
    sheet.get_by_label("Search").fill("")
    sheet.get_by_role("button", name="Metadata").click()
    expect(rows).to_have_count(6)
    expect(sheet.get_by_role("status")).to_have_text("1 to 6 of 6 steps")
    sheet.get_by_label("Line").select_option("4")
    expect(rows).to_have_count(1)

    with page.expect_download() as download:
        sheet.get_by_label("Format").select_option("csv")
        sheet.get_by_role("button", name="Download").click()
    assert download.value.suggested_filename == "tensor-anatomy.csv"
    assert "z = x[1:, ::2]" in download.value.path().read_text("utf-8")

    page.keyboard.press("Escape")
    expect(sheet).to_be_hidden()
    expect(page.get_by_role("button", name="Next step")).to_be_focused()


def test_a_long_run_comes_in_pages_and_leads_to_its_steps(open_page: Open) -> None:
    page = open_page("/playground?lang=en")
    run(page, LONG)
    expect(page.locator(".position")).to_have_text("Step 603 of 603")
    page.locator(".changes-body").press("t")
    sheet = page.get_by_role("dialog")
    rows = sheet.locator("tbody").get_by_role("row")
    expect(rows).to_have_count(3)
    expect(sheet.get_by_role("columnheader").last).to_have_text("Output")
    expect(rows.last.get_by_role("cell").last).to_have_text("11175")
    sheet.get_by_role("button", name="Earlier steps").click()
    expect(sheet.get_by_role("status")).to_have_text("501 to 600 of 603 steps")
    sheet.get_by_role("button", name="Step 502", exact=True).click()
    expect(sheet).to_be_hidden()
    expect(page.locator(".position")).to_have_text("Step 502 of 603")
