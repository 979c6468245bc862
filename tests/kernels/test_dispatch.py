"""The dispatcher: what is forced runs, in networks and lattices alike; what cannot run says why."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import torch
from torch import nn
from typer.testing import CliRunner

import nsed
from nsed.__main__ import app
from nsed.cli.about import EXTRAS
from nsed.errors import ArgumentError, UnknownNameError
from nsed.jobs.vector_index import NgramIndex
from nsed.kernels import dispatch, switch, use_backend
from nsed.kernels.dispatch import ARCS, CANDIDATES, GRU, LATTICE, MATCH_SCORES, PAIR_SCORES, TABLE_SCORES, report
from nsed.lattice import EditLattice
from nsed.networks.bulk_scores import bulk_scores, table_log_probs
from nsed.networks.matcher import MatcherNetwork
from nsed.networks.operation_table import OperationTable
from nsed.networks.operations import match_scores
from nsed.networks.pair_features import Factors, NormedProjection, PairFeatures, pair_scores
from nsed.text.batch import DistinctPairs
from support.kernels import numba_only

KERNELS = {
    "pair_scores": PAIR_SCORES,
    "arcs": ARCS,
    "lattice": LATTICE,
    "gru": GRU,
    "match_scores": MATCH_SCORES,
    "table_scores": TABLE_SCORES,
    "candidates": CANDIDATES,
}
CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def as_it_was():
    with use_backend("auto"):
        yield


def seen(monkeypatch):
    """Which implementations run, as they are called."""
    calls = []

    def watched(backend, kernel, code, name):
        function = getattr(code, name)

        def call(*given, **named):
            calls.append((kernel, backend))
            return function(*given, **named)

        monkeypatch.setattr(code, name, call)

    for backend in ("numba", "torch"):
        for kernel, name in (("pair_scores", "pair_scores"), ("arcs", "match_arcs"), ("lattice", "forward")):
            watched(backend, kernel, KERNELS[kernel].implementations[backend].code, name)
        watched(backend, "gru", GRU.implementations[backend].code, "read_onward")
        watched(backend, "match_scores", MATCH_SCORES.implementations[backend].code, "scorer")
        watched(backend, "table_scores", TABLE_SCORES.implementations[backend].code, "scorer")
        watched(backend, "candidates", CANDIDATES.implementations[backend].code, "best_by_ngrams")
    return calls


@torch.no_grad()
def run_networks():
    """Pair scores, arcs and lattice as a Matcher has them, a GRU, scores in bulk and by a table, and candidates."""
    side = torch.randn(2, 3, 16)
    features = PairFeatures(16, attention=False, heads=1, interaction=0)
    projection = NormedProjection(16, 4, attends=False)
    scores = pair_scores(features, projection, nn.Dropout(0.0), Factors(side, side, None, None, None))
    lengths = torch.tensor([2, 1])
    EditLattice(*match_scores(scores).arcs, lengths, lengths).log_prob.sum()
    nsed.encoders.rnn.RnnEncoder(nsed.encoders.EncoderConfig(dim=16, layers=1), causal=True)(side, lengths)
    encoder = nsed.encoders.EncoderConfig(kind="cnn", dim=16, layers=1)
    network = MatcherNetwork(encoder, source_symbols=9, target_symbols=9).eval()
    strings, rows = nsed.text.EncodedStrings([[4, 5]]), torch.tensor([0]).numpy()
    bulk_scores(network, strings, strings, (rows, rows))
    letters = nsed.text.Vocabulary.of("ab")
    compiled = OperationTable.uniform(letters, letters, unknown=True).compiled(strings, strings)
    table_log_probs(compiled, DistinctPairs(strings, strings, (rows, rows)))
    NgramIndex.of(["ab", "cd"]).query(["abc"], 1)


@numba_only
@pytest.mark.parametrize("backend", ["torch", "numba"])
def test_what_is_forced_runs_in_networks_and_lattices_alike(backend, monkeypatch):
    calls = seen(monkeypatch)
    with use_backend(backend):
        run_networks()
    assert {(kernel, backend) for kernel in KERNELS} <= set(calls)
    if backend == "torch":
        assert {used for _, used in calls} == {"torch"}


@numba_only
def test_a_block_ends_and_a_call_does_not():
    scores = torch.zeros(1, 1, 1, 4)
    assert ARCS.choose(scores).backend == "numba"
    with use_backend("torch"):
        assert ARCS.choose(scores).backend == "torch"
        with use_backend("numba"):
            assert ARCS.choose(scores).backend == "numba"
        assert ARCS.choose(scores).backend == "torch"
    assert ARCS.choose(scores).backend == "numba"
    use_backend("torch")
    assert ARCS.choose(scores).backend == "torch"


@pytest.mark.slow
@pytest.mark.parametrize("backend", list(filter(switch.installed, ["torch", "numba", "reference"])))
def test_the_environment_forces_one(backend):
    code = "import torch, nsed.lattice; from nsed.kernels.dispatch import report as r; print(r(torch.device('cpu')))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "NSED_BACKEND": backend},
        timeout=120,
    )
    expected = {"reference": ["torch", "torch", "reference", *["torch"] * 4]}.get(backend, [backend] * 7)
    assert re.findall(r"backend='(\w+)'", done.stdout) == expected


def test_names_that_nobody_knows_are_refused_with_those_that_are():
    with pytest.raises(
        UnknownNameError, match=r"backend: got 'nunba', expected one of: auto, numba, .* Did you mean 'numba'"
    ):
        use_backend("nunba")
    with pytest.raises(UnknownNameError, match="NSED_BACKEND: got 'cuda', expected one of: auto, numba, reference"):
        switch.checked("cuda", argument="NSED_BACKEND")


def without(monkeypatch, *backends):
    """As if these were not installed."""
    monkeypatch.setattr(switch, "installed", lambda name: name not in backends)
    monkeypatch.setattr(switch, "devices_of", switch.devices_of.__wrapped__)


@pytest.mark.parametrize(("backend", "advice"), [("numba", r"pip install .*\[cpu\]"), ("triton", "pip install triton")])
def test_what_is_not_installed_says_how_to_get_it(backend, advice, monkeypatch):
    without(monkeypatch, backend)
    with pytest.raises(ArgumentError, match=f"backend: got '{backend}', expected auto, torch or .*installed.*{advice}"):
        use_backend(backend)
    table, lengths = torch.zeros(1, 1, 1), torch.zeros(1, dtype=torch.long)
    with pytest.raises(ArgumentError, match=advice):
        EditLattice(table, table, table, lengths, lengths, backend=backend)
    assert all(choice.backend != backend for choice in report(CPU))


def test_a_lattice_is_done_by_the_backend_that_it_is_given_whatever_is_forced():
    table, lengths = torch.zeros(1, 1, 1), torch.zeros(1, dtype=torch.long)
    with use_backend("torch"):
        lattice = EditLattice(table, table, table, lengths, lengths, backend="reference")
        assert lattice._backend is LATTICE.named("reference")
        assert EditLattice(table, table, table, lengths, lengths)._backend is LATTICE.named("torch")


def test_what_a_backend_cannot_do_is_torchs():
    half = torch.zeros(1, 2, 2, 4, dtype=torch.float16)
    for backend in filter(switch.installed, ("numba", "triton")):
        with use_backend(backend):
            assert ARCS.choose(half).backend == "torch"
    assert ARCS.choose(half).backend == "torch"


@numba_only
def test_refusals_are_reasons_in_words():
    source, weight = torch.zeros(2, 3, 16), torch.zeros(9, 16)
    by_numba = PAIR_SCORES.implementations["numba"].refusal
    assert by_numba(source, source, weight, 0.1) == ""
    assert "cannot drop everything" in by_numba(source, source, weight, 1.0)
    assert "float32 and float64" in by_numba(source.half(), source, weight, 0.1)
    assert switch.no_device("numba", "meta") == "not on a CPU"
    assert switch.no_device("triton", "cpu") in ("not on a GPU", "not installed")
    assert switch.no_device("torch", "meta") == ""


@numba_only
@pytest.mark.parametrize("classes", [4, 9])
def test_the_kernel_does_not_depend_on_whether_autograd_is_on_around_it(classes):
    given = torch.zeros(2, 3, 16), torch.zeros(2, 3, 16), torch.zeros(classes, 16), 0.0
    unit = nn.GRU(16, 16).requires_grad_(False)

    def chosen():
        return PAIR_SCORES.choose(*given).backend, GRU.choose(given[0], unit).backend

    with torch.no_grad():
        without = chosen()
    assert chosen() == without == ("numba", "numba")
    assert GRU.choose(given[0], unit.requires_grad_(True)).backend == "torch"


def test_every_kernel_has_a_twin_of_every_implementation():
    for kernel in KERNELS.values():
        # in double precision, which Triton's lattices leave to torch, and on CPUs alone
        on_gpus = [] if kernel in (TABLE_SCORES, CANDIDATES) else ["triton"]
        assert list(kernel.implementations)[: len(on_gpus) + 2] == [*on_gpus, "numba", "torch"]
    assert list(LATTICE.implementations)[3:] == ["reference"]


def doctor(*model):
    shown = CliRunner().invoke(app, ["doctor", *map(str, model)], env={"COLUMNS": "300"})
    assert shown.exit_code == 0, shown.output
    return " ".join(shown.stdout.split())


@numba_only
def test_doctor_says_which_implementation_of_each_kernel_runs_and_why(monkeypatch):
    shown = doctor()
    for kernel in KERNELS:
        assert f"{kernel} on cpu numba: " in shown
    assert "lattice on cpu numba: compiled loops over cells and pairs (triton: not " in shown
    with use_backend("torch"):
        assert "lattice on cpu torch: an anti-diagonal per step (forced)" in doctor()
    with use_backend("reference"):
        assert "arcs on cpu torch: operation by operation (reference has none)" in doctor()
    without(monkeypatch, "numba", "triton")
    assert "gru on cpu torch: torch's own (triton: not installed; numba: not installed, extra cpu)" in doctor()


@numba_only
def test_doctor_and_the_page_of_installation_name_every_extra_of_users():
    root = Path(__file__).parents[2]
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    extras = set(project["project"]["optional-dependencies"]) - {"docs", "fuzz", "test"}
    page = (root / "docs" / "install.md").read_text(encoding="utf-8")
    assert set(EXTRAS) == extras == {one for one in extras if f"| `{one}` |" in page}


def test_doctor_says_which_kernel_scores_the_pairs_of_a_model():
    models = Path(__file__).parents[1] / "golden" / "models"
    assert "table_scores by numba: a pair after the other" in doctor(models / "edit-distance")
    assert "match_scores by numba: a pair after the other" in doctor(models / "matcher-similarity")
    assert "no kernel: levenshtein has no lattices" in doctor(models / "levenshtein")
    with use_backend("torch"):
        assert "table_scores by torch: lattices of pairs of similar lengths (forced)" in doctor(
            models / "edit-distance"
        )


@pytest.mark.slow
def test_importing_the_switch_imports_no_compiler():
    code = "import sys, nsed.kernels.dispatch; print([m for m in ('numba', 'triton') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == "[]"


def test_reports_are_of_all_kernels():
    assert [choice.kernel for choice in report(CPU)] == list(KERNELS)
    assert {id(kernel) for kernel in KERNELS.values()} <= {id(value) for value in vars(dispatch).values()}
