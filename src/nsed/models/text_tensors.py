"""Many strings as tensors, so that a table of a million pairs is saved with a model and read again in a second."""

from collections.abc import Mapping
from itertools import accumulate, pairwise

import numpy as np
import torch
from torch import Tensor

from nsed.text.texts import Texts


def to_tensors(columns: Mapping[str, Texts]) -> dict[str, Tensor]:
    """Of each column the characters of its different strings, their lengths, and which of them each row is."""
    return {f"{name}.{part}": tensor for name, texts in columns.items() for part, tensor in _parts(texts).items()}


def from_tensors(tensors: Mapping[str, Tensor], name: str) -> Texts:
    """The column of that name again.

    >>> from_tensors(to_tensors({"word": Texts.of(["naïve", "", "naïve"])}), "word")
    Texts(3 rows, 2 different)
    """
    characters = tensors[f"{name}.characters"].numpy().tobytes().decode("utf-8", "surrogatepass")
    ends = accumulate(tensors[f"{name}.lengths"].tolist(), initial=0)
    different = [characters[start:end] for start, end in pairwise(ends)]
    return Texts(different, tensors[f"{name}.rows"].numpy().astype(np.int64))


def _parts(texts: Texts) -> dict[str, Tensor]:
    characters = bytearray("".join(texts.different).encode("utf-8", "surrogatepass"))
    return {
        "characters": torch.tensor(np.frombuffer(characters, dtype=np.uint8)),
        "lengths": torch.tensor([len(text) for text in texts.different], dtype=torch.int32),
        "rows": torch.from_numpy(texts.rows.astype(np.int32)),
    }
