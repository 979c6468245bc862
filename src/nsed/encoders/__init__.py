"""Encoders: embeddings and context networks, from no context (unigram) to the whole string (rnn, transformer)."""

from nsed.encoders.base import ENCODERS, Attended, AttendingEncoder, Encoder, EncoderConfig, TransformerConfig
from nsed.encoders.string_encoder import Prefix, StringEncoder, attending_kinds

__all__ = [
    "ENCODERS",
    "Attended",
    "AttendingEncoder",
    "Encoder",
    "EncoderConfig",
    "Prefix",
    "StringEncoder",
    "TransformerConfig",
    "attending_kinds",
]
