"""Encoders: how much of its string a symbol knows, from nothing (unigram) to everything (rnn, transformer)."""

from nsed.encoders.base import Attended, Encoder, EncoderConfig, TransformerConfig
from nsed.encoders.registry import ENCODERS
from nsed.encoders.string_encoder import Prefix, StringEncoder

__all__ = ["ENCODERS", "Attended", "Encoder", "EncoderConfig", "Prefix", "StringEncoder", "TransformerConfig"]
