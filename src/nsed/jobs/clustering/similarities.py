"""Similarities of the pairs of a few hundred items, as a matrix."""

import numpy as np

from nsed.errors import ArgumentError, ShapeError


def similarity_matrix(count: int, pairs: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """The symmetric matrix of a list of pairs of places with a score each; what is not in the list is not a number.

    >>> similarity_matrix(3, np.array([[0, 1], [2, 1]]), np.array([0.9, 0.2]))
    array([[nan, 0.9, nan],
           [0.9, nan, 0.2],
           [nan, 0.2, nan]])
    """
    if np.shape(pairs) != (len(scores), 2):
        raise ShapeError("pairs", got=np.shape(pairs), expected=f"({len(scores)}, 2), a row per score")
    matrix = np.full((count, count), np.nan)
    one, other = pairs.T
    matrix[one, other] = matrix[other, one] = scores
    return matrix


def checked_similarities(similarities: np.ndarray) -> np.ndarray:
    """The matrix in double precision, where it is one of similarities: square, symmetric, without infinities."""
    matrix = np.asarray(similarities, dtype=float)
    if matrix.ndim != 2 or len(set(matrix.shape)) != 1:
        raise ShapeError("similarities", got=matrix.shape, expected="a square matrix, a row and a column per item")
    if np.isinf(matrix).any():
        raise ArgumentError("similarities", got="infinite ones", expected="numbers, or NaN for what is not known")
    if not np.array_equal(matrix, matrix.T, equal_nan=True):
        advice = "Use the mean of both directions: (s + s.T) / 2."
        raise ArgumentError("similarities", got="a lopsided matrix", expected="a symmetric one", advice=advice)
    return matrix


def links(similarities: np.ndarray, threshold: float) -> np.ndarray:
    """Which two items are at least as similar as the threshold; none is linked with itself."""
    linked: np.ndarray = similarities >= threshold  # what is not a number is not linked
    np.fill_diagonal(linked, False)
    return linked
