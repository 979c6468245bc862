"""Settings that every model of labelled pairs has."""

from dataclasses import dataclass

from nsed.train.config import NetworkConfig


@dataclass(frozen=True)
class LabelledConfig(NetworkConfig):
    """What is known of both sides. Abstract: the models' settings add to it."""

    shared_alphabet: bool = False
    """One vocabulary and one encoder for both sides, where both are written alike (names, cognates in IPA)."""
    languages: bool = False
    """Learn a vector per language too, from pairs with language columns."""
