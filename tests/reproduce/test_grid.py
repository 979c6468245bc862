"""The grid is the paper's: its rows, its figures, its sizes."""

import json
from dataclasses import fields
from pathlib import Path

import pytest

from nsed.config import read_yaml
from nsed.datasets import load, load_words
from nsed.errors import ArgumentError, ConfigError
from nsed.models.persistence import model_class
from nsed.reproduce.grid import CONFIGS, Run, chosen_cells, grid, settings_of
from nsed.text import Pairs, StringConfig, Tokenizers

ROOT = Path(__file__).parents[2]
PAPER = json.loads(Path(__file__).with_name("paper_tables.json").read_text(encoding="utf-8"))
FOLDER = ROOT / CONFIGS
RUNS = {cell.run.name: cell.run for cell in grid()}
TOLERANCE = 0.1


@pytest.mark.parametrize("table", sorted(PAPER))
def test_grid_has_every_row_and_figure_of_the_paper(table):
    cells = [cell for cell in grid() if cell.place == f"table{table}" and cell.is_of_the_paper]
    assert list(dict.fromkeys(cell.row for cell in cells)) == list(PAPER[table])
    for row, facts in PAPER[table].items():
        own = [cell for cell in cells if cell.row == row]
        assert [[figure.mean, figure.deviation] for cell in own for figure in cell.paper.values()] == facts["figures"]
        assert all(cell.parameters == facts.get("parameters") for cell in own)


def test_names_are_read_back_and_cells_are_chosen_by_name():
    assert all(Run.named(name) == run for name, run in RUNS.items())
    assert {cell.run.config for cell in chosen_cells(["table1"], only="STANCE RNN")} == {"stance-rnn"}
    assert len(chosen_cells(["all"])) == len(grid())
    with pytest.raises(ArgumentError, match="WHAT: got 'table9', expected one of table1, table2"):
        chosen_cells(["table9"])


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_every_run_has_settings(run):
    settings = settings_of(run, folder=FOLDER)
    if hasattr(settings, "train") and settings.model != "odds":
        train, rate = settings.train, 1e-3 if run.reading == "faster" else 1e-4
        assert (train.optimiser, train.learning_rate, train.batch_pairs) == ("adam", rate, 512)
        assert (train.schedule, train.validate_every, train.decay_patience, train.most_decays) == ("plateau", 50, 2, 10)
    if "interpretable" in run.variants:
        assert settings.distortion == 0.1
    if "attention" in run.variants:
        assert settings.attention
    if settings.model in ("matcher", "transducer"):
        assert settings.reduction == "code"
    if "exact" in run.variants:
        assert (settings.normalisation, settings.em, settings.next_symbol) == ("outgoing", 0.0, 0.0)
        assert settings.likelihood > 0
    assert settings.model == "odds" or "# Paper: " in (FOLDER / f"{run.config}.yaml").read_text(encoding="utf-8")


def test_every_row_has_its_like_beyond_the_paper():
    cells = {(cell.place, cell.row, cell.column): cell.run for cell in grid()}
    for (place, row, column), run in cells.items():
        if place == "table1":
            assert cells["honest", row, column].protocol == "concepts"
            assert cells["honest", row, column].config == run.config
        elif place == "table3" and run.config.startswith("transducer") and "interpretable" not in run.variants:
            assert cells["exact", row, column].variants == (*run.variants, "exact")


def test_every_file_of_settings_is_used():
    used = {run.config for run in RUNS.values()} | {"common"}
    assert {path.stem for path in FOLDER.glob("*.yaml")} == used
    assert set(read_yaml(FOLDER / "common.yaml")) == {"train"}


def test_settings_that_are_not_here(tmp_path):
    with pytest.raises(ConfigError, match="is not here: run this in the folder of the project's source"):
        settings_of(Run.named("cognates-ie/matcher-rnn"), folder=tmp_path)


@pytest.fixture(scope="module")
def learned(data_folder):
    """Tokenizers of a data set by its name; those of the same settings of strings are learned once."""
    tokens = [word.tokens for word in load_words("cognates-ie")]
    pairs, known = {"cognates-ie": Pairs(tokens, tokens), "g2p-cmudict": load("g2p-cmudict").training}, {}

    def tokenizers(dataset, settings):
        key = (dataset, settings.min_count, *(getattr(settings, field.name) for field in fields(StringConfig)))
        if key not in known:
            known[key] = Tokenizers.learned(settings, pairs[dataset], min_count=settings.min_count)
        return known[key]

    return tokenizers


SIZED = {
    (cell.run.config, cell.run.variants): cell
    for cell in grid()
    if cell.parameters and cell.run.dataset in ("cognates-ie", "g2p-cmudict") and cell.run.config != "edit-distance"
}


@pytest.mark.parametrize("cell", SIZED.values(), ids=[cell.run.name for cell in SIZED.values()])
def test_networks_have_the_sizes_of_the_paper(cell, learned):
    settings = settings_of(cell.run, folder=FOLDER)
    tokenizers = learned(cell.run.dataset, settings)
    if getattr(settings, "shared_alphabet", False):
        tokenizers = tokenizers.shared()
    network = model_class(settings.model)._network(settings, tokenizers, None)
    count = sum(parameter.numel() for parameter in network.parameters()) / 1e6
    assert count == pytest.approx(cell.parameters, rel=TOLERANCE)
