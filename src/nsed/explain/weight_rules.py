"""Rules from weights, without data: of a table of operations, and of networks that see no context.

In such a network a cell knows one source and one target symbol, so its scores for all pairs of symbols are a table.
Probabilities mean what they mean in data: of a source symbol, what becomes of it; of an insertion, how many there are
between two source symbols.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nsed.encoders.base import inside
from nsed.errors import NotExplainableError
from nsed.explain.rule_table import Rule, RuleTable
from nsed.explain.rules import kind_of, separators_of
from nsed.networks.matcher import MatcherNetwork
from nsed.networks.operation_table import OperationTable
from nsed.networks.operations import TargetScores, leaving_cells
from nsed.networks.pair_features import Scores, pair_scores
from nsed.networks.transducer import TransducerNetwork
from nsed.text import Tokenizers, Vocabulary
from nsed.text.tokenizer import SPECIALS
from nsed.types import START

Network: TypeAlias = MatcherNetwork | TransducerNetwork
BySymbols = Float[Tensor, "sources targets"]

POSITIONS = 10
"""Averaged positions, of an encoder with positions: both symbols at the first, both at the second, and so on."""


class Weights(NamedTuple):
    """Operation probabilities on the symbols of two vocabularies, without the special ones."""

    delete: Float[Tensor, " sources"]
    insert: Float[Tensor, " targets"]
    substitute: BySymbols


def table_rules(table: OperationTable, tokenizers: Tokenizers) -> RuleTable:
    """Rules of an operation table: their shares are its probabilities, without that of the end.

    >>> import nsed
    >>> model = nsed.LearnableEditDistance.fit([("gray", "grey"), ("gala", "gele"), ("say", "sey")])
    >>> [(str(rule), round(rule.probability, 2)) for rule in table_rules(model.table, model.tokenizers).ranked(top=2)]
    [('a→e', 1.0), ('g', 1.0)]
    """
    symbols = slice(len(SPECIALS), None)
    delete, insert, substitute = table.delete[symbols], table.insert[symbols], table.substitute[symbols, symbols]
    of_source = (delete + substitute.sum(1)).clamp(min=torch.finfo(delete.dtype).tiny)
    given = Weights(delete / of_source, insert / (1 - insert.sum()), substitute / of_source[:, None])
    return _table(given, Weights(delete, insert, substitute), tokenizers)


@torch.no_grad()
def weight_rules(network: Network, tokenizers: Tokenizers) -> RuleTable:
    """Rules of a context-free network, all symbols of the vocabularies taken as equally frequent.

    Of a Transducer: what becomes of the next source symbol, averaged over the target symbol that was written last.
    Of a Matcher: how probable each operation (or non-match) is in the cell where both symbols are next; a deletion is
    averaged over the target symbols, an insertion over the source symbols, and what becomes of a source symbol does not
    sum to one. With positions, the first ten are averaged; without, the scores are exactly those of every string.
    Shares are those of equally frequent source symbols. Raises `NotExplainableError` for a network that sees context.

    >>> from nsed.encoders import EncoderConfig
    >>> from nsed.text import Pairs, StringConfig
    >>> tokenizers = Tokenizers.learned(StringConfig(), Pairs.of([("ab", "xy")]))
    >>> sizes = [len(vocabulary) for vocabulary in tokenizers.vocabularies.values()]
    >>> encoder = EncoderConfig("unigram", dim=4, positions=False)
    >>> network = MatcherNetwork(encoder, source_symbols=sizes[0], target_symbols=sizes[1]).eval()
    >>> sorted(str(rule) for rule in weight_rules(network, tokenizers).rules)
    ['+x', '+y', '-a', '-b', 'a→x', 'a→y', 'b→x', 'b→y']
    """
    check_no_context(network)
    sizes = len(tokenizers.source.vocabulary), len(tokenizers.target.vocabulary)
    operations = _of_transducer if isinstance(network, TransducerNetwork) else _of_matcher
    given = operations(torch.cat([_scores(network, sizes, position) for position in _positions(network)]))
    return _table(given, given._replace(insert=given.insert * len(given.delete)), tokenizers)


def check_no_context(network: Network) -> None:
    """Context-free check: raise `NotExplainableError` unless a cell knows its two symbols only."""
    encoders = network.source_encoder, network.target_encoder
    if network.features.attends or any(encoder.encoder.sees_context or encoder.attends for encoder in encoders):
        raise NotExplainableError("a network that sees context has no rules of its own: give pairs to count them in")


def _positions(network: Network) -> range:
    longest = network.source_encoder.longest
    return range(1 if longest is None else min(longest, POSITIONS))


def _scores(network: Network, sizes: tuple[int, int], position: int) -> Scores:
    """Class scores in the cells of all source and target symbols, START among the latter."""
    device = network.projection.linear.weight.device
    sources = torch.arange(len(SPECIALS), sizes[0], device=device)
    targets = torch.arange(len(SPECIALS) - 1, sizes[1], device=device)
    targets[0] = START
    source = network.source_encoder.without_context(sources, torch.full_like(sources, position))
    target = network.target_encoder.without_context(targets, torch.full_like(targets, position))
    real = inside(sources.new_full((1,), len(sources)), len(sources))
    factors = network.features.factors(network.features.of_source(source[None], real), target[None])
    return pair_scores(network.features, network.projection, network.dropout, factors)


def _of_transducer(scores: Scores) -> Weights:
    """Transducer probabilities: the next source symbol waits during insertions, and is then deleted or substituted."""
    never = _beyond(scores)
    leaving = leaving_cells(TargetScores(scores), never)
    delete, insert, substitute = leaving.delete.exp(), leaving.insert.exp(), leaving.substitute.exp()
    consumed = delete + substitute.sum(-1)
    return Weights(
        (delete / consumed).mean((0, 2)),
        (insert / consumed[..., None]).mean((0, 1, 2))[len(SPECIALS) :],
        (substitute / consumed[..., None]).mean((0, 2))[:, len(SPECIALS) :],
    )


def _beyond(scores: Scores) -> Int[Tensor, " batch"]:
    """Source lengths with which no cell is the last: some source is left everywhere."""
    return torch.full((len(scores),), scores.shape[1], device=scores.device)


def _of_matcher(scores: Scores) -> Weights:
    delete, insert, substitute, _ = scores[:, :, 1:].softmax(-1).mean(0).unbind(-1)
    return Weights(delete.mean(1), insert.mean(0), substitute)


def _table(given: Weights, joint: Weights, tokenizers: Tokenizers) -> RuleTable:
    """Rule table from probabilities given the source symbol, and from those that tell how large a share each has."""
    total = sum(part.sum().item() for part in joint)
    names = _operations(tokenizers.source.vocabulary, tokenizers.target.vocabulary)
    columns = (_flat(given), _flat(joint))
    rules = (
        Rule(kind_of(source, target), source, target, 0.0, 0.0, probability, weight / total)
        for (source, target), probability, weight in zip(names, *columns, strict=True)
        if weight > 0
    )
    return RuleTable(tuple(rules), separators=separators_of(tokenizers))


def _operations(source: Vocabulary, target: Vocabulary) -> Iterator[tuple[str, str]]:
    """Operations in the order of `_flat`."""
    yield from ((s, "") for s in source.symbols)
    yield from (("", t) for t in target.symbols)
    yield from ((s, t) for s in source.symbols for t in target.symbols)


def _flat(weights: Weights) -> Iterable[float]:
    numbers: list[float] = torch.cat([part.flatten() for part in weights]).tolist()
    return numbers
