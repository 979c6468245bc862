"""Data sets: the embedded ones that need no download."""

from nsed.datasets import rule_language
from nsed.datasets.embedded import cmudict_pairs

__all__ = ["cmudict_pairs", "rule_language"]
