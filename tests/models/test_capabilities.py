"""What a model says it can do, it does; what it does not say, it refuses or has not."""

import warnings
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.autograd.graph import saved_tensors_hooks

import nsed
from nsed.capabilities import Capability, by_language, can, capabilities_of
from nsed.errors import NotExplainableError
from nsed.kernels.dispatch import Kernel
from nsed.models.base import Model
from nsed.models.persistence import MODEL_KINDS, model_class

GOLDEN = Path(__file__).parents[1] / "golden" / "models"
PAIRS = [("AB", "b"), ("CA", "ca")]
ASKED = {
    Capability.SCORE: lambda model: model.score(PAIRS),
    Capability.MATCH: lambda model: (model.match(PAIRS), model.probability(PAIRS), model.threshold),
    Capability.TRANSDUCE: lambda model: model.transduce(["AB"]),
    Capability.SAMPLE: lambda model: model.sample(["AB"]),
    Capability.ALIGN: lambda model: model.align_all(PAIRS),
    Capability.LINKS: lambda model: model.links(PAIRS),
    Capability.EXPLAIN: lambda model: model.explain("AB", "b"),
    Capability.RULES: lambda model: list(model.lattices(nsed.Pairs.of(PAIRS))),
    Capability.OPERATIONS: lambda model: [one.numbers for one in model.operations()],
    Capability.COSTS: lambda model: [one.cost for one in model.costs()],
    Capability.FINE_TUNE: lambda model: model.fine_tuning_settings,
}


def test_every_verb_is_asked():
    assert set(ASKED) == set(Capability)


def test_a_model_shown_in_a_session_says_what_it_is():
    shown = {path.name: repr(nsed.load(path)) for path in sorted(GOLDEN.iterdir())}
    assert not any(" object at 0x" in one for one in shown.values())
    told = "<Transducer 'transducer': 3 source and 3 target symbols, 6,527 parameters>"
    assert shown["transducer-exact"] == told
    assert shown["levenshtein"] == "<Levenshtein 'levenshtein'>"


MIXTURE = [GOLDEN / "transducer-exact"] * 2


@pytest.mark.parametrize(
    "folder", [*sorted(GOLDEN.iterdir()), MIXTURE], ids=lambda folder: getattr(folder, "name", "mixture")
)
def test_a_model_does_what_it_says_and_nothing_else(folder):
    model = nsed.load(folder)
    assert isinstance(model, Model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # small models write long targets
        for capability, ask in ASKED.items():
            if can(model, capability):
                ask(model)
            else:
                with pytest.raises((NotExplainableError, AttributeError, nsed.NsedError)):
                    ask(model)


def asked(model, monkeypatch):
    """What a model answers to each verb, which implementations it chose, and what was kept for a gradient."""
    answers, chosen, kept, choose = [], [], [], Kernel.choose

    def watched(kernel, *given):
        one = choose(kernel, *given)
        chosen.append((kernel.name, one.backend))
        return one

    with monkeypatch.context() as patched, saved_tensors_hooks(lambda tensor: kept.append(1) or tensor, lambda t: t):
        patched.setattr(Kernel, "choose", watched)
        for capability in sorted(model.capabilities - {Capability.FINE_TUNE}):
            answers.append(told(ASKED[capability](model)))
    return answers, chosen, len(kept)


def told(answer):
    """An answer as plain values, of lattices their log-probabilities."""
    if isinstance(answer, list | tuple):
        return [told(one) for one in answer]
    if isinstance(answer, nsed.EditLattice):
        assert not answer.posteriors.delete.requires_grad
        return answer.log_prob.tolist()
    return answer.tolist() if isinstance(answer, np.ndarray) else str(answer)


@pytest.mark.parametrize(
    "folder", [*sorted(GOLDEN.iterdir()), MIXTURE], ids=lambda folder: getattr(folder, "name", "mixture")
)
@pytest.mark.filterwarnings("ignore::UserWarning")  # golden pairs have unknown symbols and cut outputs
def test_verbs_answer_by_the_same_kernels_and_keep_no_graph_whether_autograd_is_on_or_off(folder, monkeypatch):
    found = []
    for around in (nullcontext(), torch.no_grad()):
        model = nsed.load(folder)
        if hasattr(model, "network"):
            model.network.requires_grad_(True)
        with around:
            found.append(asked(model, monkeypatch))
    (answers, chosen, kept), without = found
    assert (answers, chosen, kept) == without
    assert answers
    assert kept == 0
    assert torch.is_grad_enabled()


@pytest.mark.parametrize("kind", MODEL_KINDS)
def test_every_kind_has_the_one_base_and_settings_of_its_name(kind):
    made = model_class(kind)
    assert issubclass(made, Model)
    assert made.configs[kind]().model == kind


def test_two_columns_are_pairs_for_every_verb_that_takes_pairs():
    model = nsed.load(GOLDEN / "matcher-rnn")
    sources, targets = zip(*PAIRS, strict=True)
    assert (model.score(sources, targets) == model.score(PAIRS)).all()
    assert (model.match(list(sources), list(targets)) == model.match(PAIRS)).all()
    assert model.align_all(sources, targets) == model.align_all(PAIRS)
    assert model.links(sources, targets) == model.links(PAIRS)


def test_models_of_others_are_known_by_their_methods():
    class Longer:
        def score(self, pairs):
            return [len(source) for source, _ in pairs]

    assert capabilities_of(Longer()) == {Capability.SCORE}
    assert not can(Longer(), Capability.SCORE, Capability.ALIGN)


def test_each_row_is_asked_once_in_its_own_language():
    class Speaker:
        languages = ("de", "en")

        def for_language(self, language):
            return language

    model = Speaker()
    assert list(by_language(model, ["en", "de", "en"], 3)) == [("en", [0, 2]), ("de", [1])]
    assert list(by_language(model, None, 3)) == [(model, range(3))]
    assert list(by_language("no languages", ["en", "de"], 2)) == [("no languages", range(2))]


@pytest.mark.parametrize("path", [3, None, 2.5])
def test_what_is_no_path_is_no_model(path):
    """Was a `TypeError`: 'int' object is not iterable."""
    with pytest.raises(
        nsed.NsedError, match=r"path: got .*, expected the folder of a model, the name of a shipped one"
    ):
        nsed.load(path)


@pytest.mark.parametrize("device", ["gpu", "cuda:99"])
def test_a_device_that_torch_does_not_have_is_named(device):
    """Was a `RuntimeError` or an `AssertionError` of torch."""
    for folder in ("matcher-rnn", "seq2seq"):
        model = nsed.load(GOLDEN / folder)
        with pytest.raises(nsed.NsedError, match=f"device: got '{device}', expected cpu, or a device that torch has"):
            model.to(device)
        assert model.to("cpu").device.type == "cpu"
