"""Baselines: models to compare with, behind the same verbs."""

from nsed.baselines.edit_distance_config import EditDistanceConfig
from nsed.baselines.learnable_edit_distance import LearnableEditDistance
from nsed.baselines.operation_table import LearnedOperation

__all__ = ["EditDistanceConfig", "LearnableEditDistance", "LearnedOperation"]
