"""The page in a real browser: Chromium, which is looked for where NSED_CHROMIUM points, or on the path."""

import os
import re
import shutil
from pathlib import Path

import pytest

from nsed.jobs import LabelSession
from nsed.web.app import make_app
from nsed.web.label_page import label_app
from nsed.web.limits import ApiKeys, Limits
from nsed.web.served_models import ServedModel
from web.conftest import running

sync_api = pytest.importorskip("playwright.sync_api", reason="the package playwright is not installed")
CHROMIUM = os.environ.get("NSED_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
AXE = Path(os.environ.get("NSED_AXE", "node_modules/axe-core/axe.min.js"))
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PHONE, DESKTOP = {"width": 390, "height": 844}, {"width": 1280, "height": 900}
expect = sync_api.expect
expect.set_options(timeout=30_000)  # the first answers wait for compilers
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed, or set NSED_CHROMIUM to it"),
    pytest.mark.filterwarnings("ignore::nsed.errors.UnknownSymbolWarning"),
    pytest.mark.filterwarnings("ignore::nsed.errors.CutOutputWarning"),
]
VIEWS = ["?text=read#transduce", "?text=%E2%98%83#transduce", "?source=AB&target=b#match", "?model=spelling#rules"]


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser, address):
    """A page at an address below the server's; whatever it complains of fails the test."""
    contexts, faults = [], []

    def open_page(path="", *, viewport=DESKTOP, scheme="light"):
        context = browser.new_context(viewport=viewport, color_scheme=scheme)
        contexts.append(context)
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        page = context.new_page()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
        page.on("request", lambda request: request.url.startswith(address) or faults.append(f"asks {request.url}"))
        page.goto(f"{address}/{path}")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not [fault for fault in faults if "status of 422" not in fault]


def test_type_submit_and_see_the_script_and_the_heat_map(open_page):
    page = open_page()
    page.get_by_role("textbox", name="Source").fill("flagships")
    page.get_by_role("button", name="Transduce").click()
    first = page.locator(".candidates button").first
    expect(first).to_contain_text("F L AE G SH IH P S")
    expect(first).to_contain_text("f→F l→L a→AE g→G s→SH -h i→IH p→P s→S")
    expect(page.locator("#explanation .nsed-script > *").first).to_be_visible()
    expect(page.get_by_role("img", name=re.compile("forward|alpha", re.IGNORECASE)).first).to_be_visible()
    expect(page.get_by_role("status")).to_contain_text("5 answers, the first is \u2068F L AE G SH IH P S\u2069")


def test_a_chosen_candidate_shows_its_own_lattice(open_page):
    page = open_page("?text=thought#transduce")
    expect(page.locator("#why-title")).to_contain_text("TH AO T")
    second = page.locator(".candidates button").nth(1)
    target = second.get_attribute("data-target")
    second.click()
    expect(page.locator("#why-title")).to_have_text(f"Why thought becomes {target}")
    expect(second).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#explanation details", has_text="the lattice").locator("svg")).to_be_visible()
    page.reload()  # the address knows the choice
    expect(page.locator("#why-title")).to_have_text(f"Why thought becomes {target}")


def test_another_model_answers_the_same_question(open_page):
    page = open_page("?text=%D9%85%D8%AD%D9%85%D8%AF#transduce")
    expect(page.locator(".note").last).to_contain_text("never seen")
    page.get_by_role("combobox", name="Model").select_option("translit-ar-en")
    expect(page.locator(".candidates")).to_contain_text("mahmad")
    assert "model=translit-ar-en" in page.url


def test_permalinks_and_the_way_back(open_page):
    page = open_page("?model=rule-matcher&source=ABAC&target=bac#match")
    expect(page.locator("#results-title")).to_have_text("Decision")
    expect(page.get_by_role("textbox", name="Target")).to_have_value("bac")
    page.get_by_role("link", name="Rules").click()
    expect(page.locator("#match-form")).to_be_hidden()
    page.go_back()
    expect(page.locator(".verdict")).to_contain_text("match")


def test_a_decision_has_a_waterfall_and_a_heat_map(open_page):
    page = open_page("#match")
    page.get_by_role("textbox", name="Source").fill("ABAC")
    page.get_by_role("textbox", name="Target").fill("bac")
    page.get_by_role("button", name="Match").click()
    expect(page.locator(".verdict")).to_contain_text(re.compile(r"probability [0-9.]+\s%"))
    expect(page.locator(".nsed-pictures svg")).to_have_count(2)


def test_rules_of_pasted_pairs(open_page):
    page = open_page("?model=g2p-en#rules")
    expect(page.get_by_role("status")).to_contain_text("--rules-data")
    page.get_by_role("textbox", name="Pairs").fill("cat = K AE T\ncut = K AH T")
    page.get_by_role("button", name="Show rules").click()
    expect(page.locator("table.rules")).to_contain_text("c→K")


def test_rules_of_right_to_left_scripts_do_not_read_backwards(open_page):
    page = open_page("?model=translit-ar-en#rules")
    page.get_by_role("textbox", name="Pairs").fill("محمد = mhmd")
    page.get_by_role("button", name="Show rules").click()
    rule = page.locator("table.rules td:first-child", has_text="→m").first
    expect(rule).to_be_visible()
    places = """cell => { const text = cell.querySelector('bdi').firstChild, range = new Range();
      return ["م", "→", "m"].map(one => { const at = text.data.indexOf(one); range.setStart(text, at);
        range.setEnd(text, at + 1); return range.getBoundingClientRect().x }) }"""
    source, arrow, target = rule.evaluate(places)
    assert source < arrow < target


def test_keyboard_only(open_page):
    page = open_page()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="To the content")).to_be_focused()
    for _ in range(5):  # three views, the model, the source
        page.keyboard.press("Tab")
    expect(page.get_by_role("textbox", name="Source")).to_be_focused()
    page.keyboard.type("read")
    page.keyboard.press("Enter")
    expect(page.locator("#results-title")).to_be_focused()
    for _ in range(5):  # three buttons that copy, two answers
        page.keyboard.press("Tab")
    second = page.locator(".candidates button").nth(1)
    expect(second).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#why-title")).to_be_focused()
    expect(second).to_have_attribute("aria-pressed", "true")


def test_examples_and_copies(open_page):
    page = open_page()
    page.get_by_role("link", name="colonel").click()
    expect(page.locator(".candidates")).to_contain_text("K ER N AH L")
    for name, wanted in (
        ("text", "colonel\tK ER N AH L\t"),
        ("JSON", '"target": "K ER N AH L"'),
        ("link", "text=colonel"),
    ):
        page.get_by_role("button", name=f"Copy {name}").click()
        expect(page.get_by_role("status")).to_have_text("Copied.")
        assert wanted in page.evaluate("navigator.clipboard.readText()")


def test_overrides_are_marked(open_page):
    page = open_page("?text=nsed#transduce")
    expect(page.locator(".candidates .mark")).to_have_text("override")
    expect(page.locator("#why-title .mark")).to_have_text("override")


@pytest.mark.parametrize("text", ["<img src=x onerror=document.title='bad'>", "\u202egnp.exe", "👩‍👩‍👧‍👦", "a" * 1000])
def test_hostile_strings_are_text_or_refused(open_page, text):
    page = open_page()
    page.get_by_role("textbox", name="Source").fill(text)
    page.get_by_role("button", name="Transduce").click()
    expect(page.get_by_role("status")).to_contain_text(re.compile("the first is|at most"))
    assert page.title() == "Transduce – Neural String Edit Distance"
    assert page.locator("main img").count() == 0


@pytest.mark.parametrize("path", VIEWS)
@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_is_wider_than_the_screen(open_page, path, width):
    page = open_page(path, viewport={"width": width, "height": 800})
    expect(page.locator("#answer > *").first).to_be_visible()
    page.wait_for_load_state("networkidle")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not here: npm pack axe-core, and set NSED_AXE to axe.min.js")
@pytest.mark.parametrize("path", ["", *VIEWS])
@pytest.mark.parametrize(("viewport", "scheme"), [(DESKTOP, "light"), (PHONE, "dark")])
def test_axe_finds_no_serious_fault(open_page, path, viewport, scheme):
    page = open_page(path, viewport=viewport, scheme=scheme)
    page.wait_for_load_state("networkidle")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run()")["violations"]
    serious = [
        (one["id"], [node["html"][:200] for node in one["nodes"]])
        for one in found
        if one["impact"] in ("serious", "critical")
    ]
    assert not serious


def test_questions_are_answered_by_keys_and_buttons(browser, tmp_path):
    pairs = [(a + b, a + c) for a in ("gra", "blo", "stu") for b in "xyz" for c in "xyz"]
    session, faults = LabelSession(pairs, tmp_path / "answers.tsv", every=1000), []
    with running(label_app(session, tmp_path / "model", Limits(), budget=4)) as address:
        page = browser.new_page(viewport=PHONE)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
        page.goto(address)
        expect(page.get_by_role("status")).to_contain_text("0 answers")
        page.keyboard.press("y")
        expect(page.get_by_role("status")).to_contain_text("1 answers, 1 of them matches")
        page.get_by_role("button", name="No (n)").click()
        expect(page.get_by_role("status")).to_contain_text("2 answers, 1 of them matches")
        page.keyboard.press("u")
        expect(page.get_by_role("status")).to_contain_text("1 answers")
        expect(page.locator("#source")).to_have_text(session.question().source)
        for count in (2, 3, 4):
            page.keyboard.press("y")
            expect(page.get_by_role("status")).to_contain_text(f"{count} answers")
        expect(page.get_by_text("There are no more questions.")).to_be_visible()
        assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")
        page.close()
    assert [one.label for one in session.answers] == [True] * 4
    assert not faults


def test_page_asks_for_the_key_and_goes_on_with_it(browser, matcher):
    app, faults = make_app([ServedModel("rule-matcher", matcher)], keys=ApiKeys(["0123456789-abcdef"])), []
    with running(app) as address:
        page = browser.new_page(viewport=PHONE)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto(f"{address}/?source=AB&target=b#match")
        expect(page.get_by_role("status")).to_have_text("This server wants an API key.")
        key = page.get_by_label("API key")
        expect(key).to_be_focused()
        key.fill("no key of this server")
        page.keyboard.press("Enter")
        expect(page.get_by_role("status")).to_have_text("This is no key of this server.")
        key.fill("0123456789-abcdef")
        page.get_by_role("button", name="Use this key").click()
        expect(page.locator(".verdict")).to_contain_text("match")
        expect(key).to_be_hidden()
        page.reload()  # the tab knows the key
        expect(page.locator(".verdict")).to_contain_text("match")
        page.close()
    assert not faults
