"""ONNX graphs in onnxruntime answer what the model answers, to 1e-4: any batch, any length, any padding."""

import json
import warnings

import numpy as np
import pytest

import nsed
from lite.test_answers import MATCHERS, ODDS, PAIRS, TRANSDUCERS, WORDS, given, untrained
from nsed.export import export_model
from nsed.types import END, NEG, START

onnxruntime = pytest.importorskip("onnxruntime")
TOLERANCE = 1e-4


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # unknown symbols and cut outputs are part of it
        yield


def padded(tokenizer, texts, *, more=0):
    strings = [tokenizer.vocabulary.encode(tokenizer.split(text)) for text in texts]
    lengths = np.array([len(string) for string in strings])
    table = np.zeros((len(strings), max(1, lengths.max()) + more), dtype=np.int64)
    for row, string in enumerate(strings):
        table[row, : len(string)] = string
    return table, lengths


def known_to(model, pairs):
    sides = model.tokenizers.source, model.tokenizers.target
    return [pair for pair in pairs if not any(side.new_symbols([text]) for side, text in zip(sides, pair, strict=True))]


def pair_scores(path, model, pairs, *, more=0, **languages):
    source, target = zip(*pairs, strict=True)
    inputs = {}
    for side, texts in (("source", source), ("target", target)):
        inputs[side], inputs[f"{side}_lengths"] = padded(getattr(model.tokenizers, side), texts, more=more)
    return session(path / "pair.onnx").run(None, inputs | languages)[0]


def session(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options)


class Decoder:
    """Decoding with the two graphs of a Transducer and NumPy: what another program would write."""

    def __init__(self, folder):
        self.encoder, self.step = session(folder / "encoder.onnx"), session(folder / "step.onnx")
        self.needed = {one.name: one.shape for one in self.step.get_inputs()}

    def begin(self, source, lengths, **language):
        names = [one.name for one in self.encoder.get_outputs()]
        inputs = {"source": source, "source_lengths": lengths} | language
        fixed = dict(zip(names, self.encoder.run(None, inputs), strict=True)) | {"source_lengths": lengths}
        count, rows = fixed["projected"].shape[:2]
        memory = np.full((count, self.needed["memory"][1], rows), NEG, dtype=np.float32)
        memory[:, 0, 0] = 0.0
        states = {
            name: np.zeros((count, *(0 if size == "read" else size for size in shape[1:])), dtype=np.float32)
            for name, shape in self.needed.items()
            if name.startswith("state_")
        }
        return fixed, states | {"memory": memory, "symbol": np.full(count, START), "position": np.array([0])}

    def go(self, fixed, state):
        given = {name: value for name, value in (fixed | state).items() if name in self.needed}
        if "history" in self.needed:
            given.setdefault("history", np.zeros(len(state["symbol"]), dtype=np.float32))
        names = [one.name for one in self.step.get_outputs()]
        return dict(zip(names, self.step.run(None, given), strict=True))

    @staticmethod
    def after(state, told, rows, symbols):
        """State of chosen hypotheses that go on with a symbol each."""
        kept = {name: told[f"{name}_after"][rows] for name in state if name.startswith("state_")}
        more = {"history": told["log_prob"][rows, symbols], "position": state["position"] + 1}
        return kept | {"memory": told["memory_after"][rows, symbols], "symbol": symbols} | more

    def greedy(self, source, lengths, longest, **language):
        fixed, state = self.begin(source, lengths, **language)
        found, written = [None] * len(source), [[] for _ in source]
        for length in range(longest + 1):
            told = self.go(fixed, state)
            chosen = told["log_prob"].argmax(1)
            for row in range(len(source)):
                if found[row] is None and (chosen[row] == END or length == longest):
                    found[row] = (list(written[row]), float(told["log_prob"][row, END]))
                written[row].append(int(chosen[row]))
            if all(found):
                break
            state = self.after(state, told, np.arange(len(source)), chosen)
        return found

    def log_prob(self, source, lengths, target, target_lengths):
        """Exact log p(target | source), of models in exact mode: the end after the target's own symbols."""
        fixed, state = self.begin(source, lengths)
        result = np.empty(len(source))
        for place in range(target.shape[1] + 1):
            told = self.go(fixed, state)
            done = target_lengths == place
            result[done] = told["log_prob"][done, END]
            if place < target.shape[1]:
                state = self.after(state, told, np.arange(len(source)), target[:, place])
        return result


SAME = {
    "capitals", "tokens", "letters and phones", "code points", "rnn with a length penalty", "rnn from right to left",
}  # fmt: skip
"""Cases that make no difference to graphs."""
EXPORTED = [name for name in TRANSDUCERS if name not in SAME]


@pytest.mark.parametrize("name", EXPORTED)
def test_transducers_decode_and_score_in_onnxruntime_as_in_torch(name, tmp_path):
    settings = TRANSDUCERS[name] | {"longest_output": 12, "beam": 1}
    model = untrained(nsed.Transducer, settings)
    export_model(model, tmp_path)
    decoder, vocabulary = Decoder(tmp_path), model.tokenizers.target.vocabulary
    for more in (0, 3):  # padding changes nothing
        found = decoder.greedy(*padded(model.tokenizers.source, WORDS, more=more), longest=12)
        for (symbols, log_prob), (best,) in zip(found, model.transduce(WORDS), strict=True):
            assert tuple(vocabulary.names[number] for number in symbols) == best.symbols
            assert log_prob == pytest.approx(best.log_prob, abs=TOLERANCE, rel=TOLERANCE)
    if model.config.normalisation == "outgoing":
        pairs = known_to(model, PAIRS)
        source = padded(model.tokenizers.source, [source for source, _ in pairs])
        target = padded(model.tokenizers.target, [target for _, target in pairs])
        assert np.allclose(decoder.log_prob(*source, *target), model.score(pairs), atol=TOLERANCE, rtol=TOLERANCE)


@pytest.mark.parametrize(
    ("kind", "name"), [(nsed.Matcher, name) for name in MATCHERS] + [(nsed.OddsMatcher, name) for name in ODDS]
)
def test_matchers_score_in_onnxruntime_as_in_torch(kind, name, tmp_path):
    settings = (MATCHERS if kind is nsed.Matcher else ODDS)[name]
    model = untrained(kind, settings, labels=[row < 10 for row in range(20)])
    export_model(model, tmp_path)
    pairs = known_to(model, PAIRS)  # of new symbols odds know more than a graph, which has <unk> for them
    for more in (0, 3):
        scores = pair_scores(tmp_path, model, pairs, more=more)
        assert np.allclose(scores, model.score(pairs), atol=TOLERANCE, rtol=TOLERANCE)
    assert pair_scores(tmp_path, model, pairs[4:5]) == pytest.approx(scores[4:5], abs=TOLERANCE)


@pytest.mark.parametrize("kind", [nsed.Matcher, nsed.OddsMatcher])
def test_a_batch_of_empty_strings_without_padding_does_not_stop_onnxruntime(kind, tmp_path):
    settings = MATCHERS["unigram"] if kind is nsed.Matcher else {}
    model = untrained(kind, settings, labels=[row < 10 for row in range(20)])
    export_model(model, tmp_path)
    nothing = {name: np.zeros((2, 0), dtype=np.int64) for name in ("source", "target")}
    lengths = {f"{name}_lengths": np.zeros(2, dtype=np.int64) for name in nothing}
    found = session(tmp_path / "pair.onnx").run(None, nothing | lengths)[0]
    assert found == pytest.approx(model.score([("", "")] * 2), abs=TOLERANCE)


def test_languages_are_inputs_of_graphs(tmp_path):
    sides = {"source_languages": ["de", "cs"] * 10, "target_languages": ["cs", "cs"] * 10}
    labels = [row < 10 for row in range(20)]
    for kind, extra in ((nsed.Matcher, {"encoder__kind": "rnn"}), (nsed.OddsMatcher, {})):
        model = untrained(kind, extra | {"languages": True}, labels=labels, **sides)
        export_model(model, tmp_path / kind.__name__)
        numbers = {name.removesuffix("s"): np.array(model.languages.encode(column)) for name, column in sides.items()}
        scores = pair_scores(tmp_path / kind.__name__, model, PAIRS[:20], **numbers)
        assert np.allclose(scores, model.score(given(PAIRS[:20], **sides)), atol=TOLERANCE, rtol=TOLERANCE)
    settings = {"encoder__kind": "rnn", "languages": True, "longest_output": 12, "beam": 1}
    model = untrained(nsed.Transducer, settings, source_languages=sides["source_languages"])
    export_model(model, tmp_path / "transducer")
    language = np.array(model.languages.encode(["cs"] * len(WORDS)))
    source = padded(model.tokenizers.source, WORDS)
    found = Decoder(tmp_path / "transducer").greedy(*source, longest=12, language=language)
    best = [one[0].log_prob for one in model.for_language("cs").transduce(WORDS)]
    assert [log_prob for _, log_prob in found] == pytest.approx(best, abs=TOLERANCE, rel=TOLERANCE)


def test_what_goes_with_the_graphs_says_how_to_use_them(tmp_path):
    model = untrained(nsed.Matcher, MATCHERS["unigram"], labels=[row < 10 for row in range(20)])
    paths = export_model(model, tmp_path)
    assert sorted(path.name for path in paths) == ["export.json", "pair.onnx"]
    told = json.loads((tmp_path / "export.json").read_text(encoding="utf-8"))
    assert told["kind"] == "matcher"
    assert told["source"] == {"symbols": "graphemes", "unicode_form": "NFC", "case": "keep",
                              "vocabulary": list(model.tokenizers.source.vocabulary.names)}  # fmt: skip
    assert (told["threshold"], told["calibration"]) == (model.threshold, model.calibration.record)


def test_a_mixture_is_exported_member_by_member(tmp_path):
    settings = {"encoder__kind": "unigram", "longest_output": 12}
    mixture = nsed.Mixture([untrained(nsed.Transducer, settings), untrained(nsed.Transducer, settings)])
    export_model(mixture, tmp_path)
    assert (tmp_path / "member-1" / "step.onnx").exists()
    decoder = Decoder(tmp_path / "member-0")
    source = padded(mixture.tokenizers.source, WORDS)
    assert decoder.greedy(*source, longest=12)[0][1] == pytest.approx(
        mixture.members[0].transduce(WORDS[:1], beam=1)[0][0].log_prob, abs=TOLERANCE
    )


def test_a_mixture_of_matchers_says_who_reads_it(tmp_path):
    with pytest.raises(nsed.NsedError, match=r"got a model of kind 'matcher-mixture', .* nsed-lite reads its folder"):
        export_model(nsed.load("cognates"), tmp_path)


def test_a_model_without_graphs_says_what_has_some(tmp_path):
    model = nsed.LearnableEditDistance.fit(PAIRS[:5], iterations=1)
    with pytest.raises(
        nsed.NsedError, match=r"got a model of kind 'edit-distance', expected a transducer.*--format json"
    ):
        export_model(model, tmp_path)
