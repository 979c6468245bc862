"""Error rates on validation words, for every model that writes."""

import numpy as np
import torch

from nsed.evaluate import transduction_score
from nsed.models.answers import AnyWriter, longest_output
from nsed.models.search_config import SearchConfig
from nsed.networks.search import greedy_search
from nsed.text import EncodedStrings

Sides = tuple[EncodedStrings, EncodedStrings]
"""Sources and targets as numbers."""
BATCH_WORDS = 2**10


def error_rates(writer: AnyWriter, config: SearchConfig, sides: Sides) -> dict[str, float]:
    """WER and CER of greedy outputs; a word that occurs several times may be right in any of its ways."""
    sources, targets = sides
    references: dict[tuple[int, ...], list[list[int]]] = {}
    for row in range(len(sources)):
        references.setdefault(tuple(sources[row]), []).append(targets[row])
    words = sorted(references, key=len)
    outputs = greedy_outputs(writer, words, longest=longest_output(writer, config))
    score = transduction_score(outputs, [references[word] for word in words])
    return {"wer": score.wer, "cer": score.cer}


def greedy_outputs(writer: AnyWriter, words: list[tuple[int, ...]], *, longest: int) -> list[list[int]]:
    """Each word's greedy output, as numbers."""
    outputs: list[list[int]] = []
    for start in range(0, len(words), BATCH_WORDS):
        some = EncodedStrings(words[start : start + BATCH_WORDS])
        padded = some.padded(np.arange(len(some))).to(writer.device)
        encoded = writer.encode(padded, torch.from_numpy(some.lengths).to(writer.device))
        found = greedy_search(writer, encoded, longest=longest)
        for symbols, length in zip(found.symbols[:, 0].tolist(), found.lengths[:, 0].tolist(), strict=True):
            outputs.append(symbols[:length])
    return outputs
