"""Explanations add up, equal the lattice, and tell the same story in every rendering."""

import json
import math
import random
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

import nsed
from golden.answers import FOLDERS
from nsed.errors import ArgumentError, UnknownNameError
from nsed.evaluate import Calibration
from nsed.explain.explanation import Explanation
from nsed.explain.render.heat_maps import confusion_grid, grid_svg, operation_grid
from nsed.explain.render.pictures import PICTURES, draw, draw_grid
from nsed.models.pair_model import Criterion
from nsed.text import Pairs
from nsed.text.visible import drawn
from support import parsed_back

STRANGE = ["<b>&\"'", "50%", "a_b", "\\", "{x}", "~^", " ", "م", "\u0301", "-", "\x00"]


@pytest.fixture(scope="module")
def matcher():
    return nsed.load(FOLDERS / "matcher-similarity")


@pytest.fixture(scope="module")
def g2p():
    return nsed.load("g2p-en")


@pytest.fixture(scope="module")
def strange():
    """An explanation of symbols that every rendering must escape, and of script that runs from right to left."""
    targets = [symbol * 2 for symbol in STRANGE[:6]] + STRANGE[6:]
    pairs = Pairs.of([(" ".join(part), "x") for part in (["a", "b"], ["b", "c"])])
    config = nsed.EditDistanceConfig(source_symbols="tokens", target_symbols="tokens")
    model = nsed.LearnableEditDistance.fit(pairs, config=config)
    with pytest.warns(nsed.UnknownSymbolWarning):
        made = model.explain(" ".join(STRANGE), " ".join(targets))
    assert len(made.source) >= 9
    return made


def random_pairs(count, seed):
    drawing = random.Random(seed)

    def word(letters):
        return "".join(drawing.choices(letters, k=drawing.randrange(7)))

    return [(word("ABC"), word("abc")) for _ in range(count)]


@pytest.fixture(scope="module", params=["match", "no match", "empty", "one", "g2p", "g2p alone", "strange"])
def explanation(request, matcher, g2p, strange):
    return {
        "match": lambda: matcher.explain("BCAAAC", "cac"),
        "no match": lambda: matcher.explain("BCAB", "ccca", scripts=5),
        "empty": lambda: matcher.explain("", ""),
        "one": lambda: matcher.explain("A", "a", scripts=1),
        "g2p": lambda: g2p.explain("read", "R IY D"),
        "g2p alone": lambda: g2p.explain("flagships"),
        "strange": lambda: strange,
    }[request.param]()


@pytest.mark.slow
def test_contributions_sum_to_the_log_odds_of_random_pairs(matcher):
    pairs = random_pairs(60, seed=3)
    probabilities, decisions = matcher.probability(pairs), matcher.match(pairs)
    for made, probability, decided in zip(matcher.explain_all(pairs), probabilities, decisions, strict=True):
        assert math.fsum(part.value for part in made.contributions) == pytest.approx(made.total, abs=1e-5)
        assert made.total == pytest.approx(math.log(probability / (1 - probability)), abs=1e-5)
        assert (made.decision.match, made.decision.threshold) == (decided, matcher.threshold)
        assert [part.name for part in made.contributions[-2:]] == ["ambiguity", "threshold"]
        assert made.contributions[-2].value >= -1e-5


def test_threshold_means_one_thing_in_an_explanation_and_not_three(matcher):
    made = matcher.explain("BCA", "ca")
    assert made.to_text().count("threshold") == 1  # the border of the score; as a probability it is "match from"
    assert "offset: the constant of the calibration" in made.to_text()
    assert made.to_svg("waterfall").count("threshold") == 0


def test_without_calibration_the_log_odds_are_zero_at_the_threshold(matcher):
    bare = nsed.Matcher(matcher.network, matcher.tokenizers, matcher.config, criterion=Criterion.at(-1.5))
    made = bare.explain("BCA", "ca")
    assert made.total == pytest.approx(made.log_prob + 1.5)
    assert made.decision.match == (made.total >= 0) == (made.decision.probability >= 0.5)


def test_a_matcher_with_languages_explains_with_them(matcher):
    pairs = Pairs(["AB", "AB"], ["ab", "ab"], [True, False], ["x", "y"], ["y", "y"])
    seeing = nsed.Matcher._untrained(pairs, replace(matcher.config, languages=True))
    one, other = (made.log_prob for made in seeing.explain_all(pairs))
    assert [one, other] == pytest.approx(seeing.score(pairs))
    assert abs(one - other) > 1e-4


def test_contributions_sum_to_the_log_probability(explanation):
    assert math.fsum(part.value for part in explanation.contributions) == pytest.approx(explanation.total, abs=1e-5)
    assert len(explanation.contributions) == len(explanation.script) + 2


def test_tables_equal_the_lattice(matcher):
    made, pairs = matcher.explain("BCAC", "cac"), Pairs.of([("BCAC", "cac")])
    ((_, lattice),) = matcher.lattices(pairs)
    for name in ("delete", "insert", "substitute"):
        assert getattr(made, name) == pytest.approx(getattr(lattice.posteriors, name)[0].double().numpy(), abs=1e-6)
    assert made.log_beta[0, 0] == pytest.approx(made.log_alpha[-1, -1], abs=1e-5)
    for script in made.scripts:
        for edit in script:
            place = edit.i + (edit.kind != "insert"), edit.j + (edit.kind != "delete")
            assert edit.probability == pytest.approx(getattr(made, edit.kind)[place], abs=1e-6)
            assert edit.log_weight == pytest.approx(getattr(lattice.arcs, edit.kind)[0][place].item())


def test_scripts_come_best_first_with_their_shares(explanation):
    shares = [script.share for script in explanation.scripts]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) <= 1 + 1e-5
    assert len({script.edits for script in explanation.scripts}) == len(shares)
    for script in explanation.scripts:
        assert (script.source, script.target) == (explanation.source, explanation.target)
        assert script.log_weight == pytest.approx(math.fsum(edit.log_weight for edit in script), abs=1e-4)


def test_origins_are_distributions_over_the_source(explanation):
    for origin in explanation.origins:
        assert origin.inserted + math.fsum(origin.sources) == pytest.approx(1, abs=1e-4)
    assert [origin.symbol for origin in explanation.origins] == list(explanation.target)


def test_a_transducer_explains_its_own_best_output(g2p):
    made = g2p.explain("flagships")
    assert made.target == g2p.transduce(["flagships"])[0][0].symbols == made.outputs[0].symbols
    assert made.outputs[0].probability == pytest.approx(math.exp(made.log_prob), abs=1e-4)
    assert [made.source[origin.best] for origin in made.origins] == list("flagsips")
    assert len(made.outputs) == 5


def test_json_round_trip(explanation):
    again = Explanation.from_json(explanation.to_json())
    assert again.to_dict() == explanation.to_dict()
    assert json.loads(explanation.to_json(), parse_constant=pytest.fail)
    assert again.to_html() == explanation.to_html()


@pytest.mark.parametrize("damage", [{"log_alpha": [[0.0] * 99]}, {"log_prob": "x"}, {"source": None}, {"scripts": [1]}])
def test_json_of_something_else_is_no_explanation(explanation, damage):
    for text in (json.dumps(explanation.to_dict() | damage), "[" * 100_000, "{}", ""):
        with pytest.raises(
            ArgumentError, match=r"text: got something else .*, expected what Explanation\.to_json wrote"
        ):
            Explanation.from_json(text)


def told(script):
    return [parsed_back.Told(edit.kind, drawn(edit.source), drawn(edit.target), edit.probability) for edit in script]


def test_html_tells_all_scripts(explanation):
    assert parsed_back.scripts_of_html(explanation.to_html()) == [told(script) for script in explanation.scripts]


def test_html_needs_nothing_from_outside_and_shows_itself_in_notebooks(explanation):
    page = explanation._repr_html_()
    assert "<script" not in page
    assert "href" not in page
    assert "src=" not in page
    assert "url(" not in page
    assert page.replace("http://www.w3.org/2000/svg", "").count("http") == 0
    style = page[page.index("<style>") : page.index("</style>") + len("</style>")]
    assert explanation.to_html(style=False) == page.replace(style, "")


def test_html_says_the_decision(matcher):
    page = matcher.explain("BCAAAC", "cac").to_html()
    decision = matcher.explain("BCAAAC", "cac").decision
    assert f'data-match="{str(decision.match).lower()}"' in page
    assert f"probability {decision.probability:.1%}" in page


def test_latex_tells_all_scripts(explanation):
    expected = [told(script) for script in explanation.scripts]
    for found, script in zip(parsed_back.scripts_of_latex(explanation.to_latex()), expected, strict=True):
        assert [one[:3] for one in found] == [one[:3] for one in script]
        assert [one.probability for one in found] == pytest.approx([one.probability for one in script], abs=6e-4)
    table = explanation.to_latex(standalone=True).partition(r"\begin{tabular}")[2]
    assert table.count("{") - table.count(r"\{") == table.count("}") - table.count(r"\}")


def test_text_tells_the_parts_and_their_sum(explanation):
    *found, (name, total, _) = parsed_back.parts_of_text(str(explanation))
    parts = explanation.contributions
    names = [one if part.edit else one.split(":")[0] for (one, _, _), part in zip(found, parts, strict=True)]
    assert names == [part.title for part in parts]
    assert [value for _, value, _ in found] == pytest.approx([part.value for part in parts], abs=6e-4)
    shares = [share for _, _, share in found if share is not None]
    assert shares == pytest.approx([edit.probability for edit in explanation.script], abs=1.1e-3)
    assert (name, total) == (explanation.total_name, pytest.approx(explanation.total, abs=6e-4))


def test_waterfall_tells_the_parts_and_their_sum(explanation):
    *parts, total = parsed_back.parts_of_waterfall(explanation.to_svg("waterfall"))
    assert parts == [(part.title, part.value) for part in explanation.contributions]
    assert total == (explanation.total_name, explanation.total)


def test_lattice_tells_the_best_script(explanation):
    arcs = parsed_back.best_arcs_of_lattice(explanation.to_svg("lattice"))
    assert [kind for kind, _, _ in arcs] == [edit.kind for edit in explanation.script]
    shares = [min(1.0, share) for _, _, share in arcs]
    assert shares == pytest.approx([edit.probability for edit in explanation.script], abs=1e-6)


def test_lattice_shows_the_posteriors_of_the_lattice(matcher):
    ((_, lattice),) = matcher.lattices(Pairs.of([("BCAC", "cac")]))
    arcs = parsed_back.arcs_of_lattice(matcher.explain("BCAC", "cac").to_svg("lattice"))
    assert len(arcs) == 4 * 4 + 5 * 3 + 4 * 3
    for (kind, *place), shown in arcs.items():
        assert shown == pytest.approx(getattr(lattice.posteriors, kind)[0, *place].item(), abs=1e-6)


def test_maps_tell_the_tables(explanation):
    cells = parsed_back.cells_of_grid(explanation.to_svg("alpha"))
    assert cells == dict(np.ndenumerate(explanation.log_alpha))
    n, m = len(explanation.source), len(explanation.target)
    posteriors = parsed_back.cells_of_grid(explanation.to_svg("posteriors"))
    for j, origin in enumerate(explanation.origins):
        assert [posteriors[i, j] for i in range(n)] == list(origin.sources)
        assert posteriors[n, j] == pytest.approx(origin.inserted)
    for i in range(n):
        assert math.fsum(posteriors[i, j] for j in range(m + 1)) == pytest.approx(1, abs=1e-4)


def test_every_picture_says_what_it_shows(explanation):
    alone = [explanation.to_svg(name) for name in PICTURES]
    inside = parsed_back.svgs_of_html(explanation.to_html())
    assert set(inside) == set(alone)
    for svg in alone:
        root = ElementTree.fromstring(svg)
        title, description, *_ = root
        assert root.attrib["role"] == "img"
        assert root.attrib["aria-label"] == f"{title.text}. {description.text}"
        assert title.text
        assert description.text


def test_unknown_pictures_and_numbers_of_scripts_are_refused(matcher):
    with pytest.raises(UnknownNameError, match=r"picture: got 'gamma', expected alpha \| posteriors"):
        matcher.explain("A", "a").to_svg("gamma")
    with pytest.raises(ArgumentError, match="scripts: got 0, expected at least 1"):
        matcher.explain("A", "a", scripts=0)


@pytest.mark.parametrize("picture", PICTURES)
@pytest.mark.parametrize("ending", ["png", "pdf", "svg"])
def test_pictures_as_files(matcher, tmp_path, picture, ending):
    starts = {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<?xml"}
    for number, pair in enumerate([("BCAB", "cca"), ("", "")]):
        path = tmp_path / f"{number}.{ending}"
        draw(matcher.explain(*pair), path, picture=picture)
        assert path.read_bytes().startswith(starts[ending])


def test_a_file_of_unknown_kind_is_refused(matcher, tmp_path):
    with pytest.raises(ArgumentError, match=r"expected a file that ends with one of .*png"):
        draw(matcher.explain("A", "a"), tmp_path / "picture.word")


def test_tables_over_symbols_as_pictures(tmp_path):
    counts = np.array([[3.0, 1.0], [0.0, 0.0]])
    grid = confusion_grid(counts, ["a", "<"], ["x", "م"])
    assert parsed_back.cells_of_grid(grid_svg(grid)) == {(0, 0): 3.0, (0, 1): 1.0, (1, 0): 0.0, (1, 1): 0.0}
    assert [[cell.shade for cell in row] for row in grid.cells] == [[0.75, 0.25], [0.0, 0.0]]
    weights = operation_grid(np.log([[0.5, 0.25]]), ["a"], ["x", "−"])
    assert [cell.text for cell in weights.cells[0]] == [".50", ".25"]
    draw_grid(weights, tmp_path / "table.png")
    assert (tmp_path / "table.png").stat().st_size > 1000


def test_calibration_is_what_the_decision_says(matcher):
    made = matcher.explain("BC", "c")
    assert Calibration(made.decision.slope, made.decision.offset, matcher.calibration.form) == matcher.calibration
    assert made.decision.threshold_probability == pytest.approx(matcher.threshold_probability)
