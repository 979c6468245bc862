"""Kernels: everything compiled, and the switch that says which implementation of it runs.

Seven kernels, the same module names in `torch/` (readable twins, for any device), `numba/` (CPUs, extra `cpu`) and
`triton/` (GPUs):

| kernel         | from -> to                                                                                 |
|----------------|--------------------------------------------------------------------------------------------|
| `pair_scores`  | vectors of the symbols of two strings -> scores of the classes in every cell               |
| `arcs`         | scores of the classes -> log-probabilities of the arcs                                     |
| `lattice`      | log-probabilities of the arcs -> alpha, and its gradient                                   |
| `gru`          | vectors of symbols -> vectors in context, by gated recurrent units                         |
| `match_scores` | many pairs of strings, by vectors of their symbols -> log alpha, all of the above in one   |
| `table_scores` | many pairs of strings, by the numbers of their symbols, and a table of operations -> log alpha |
| `candidates`   | queries, and an inverted index of n-grams, or sorted strings and odds -> the best rows of each |

`contracts.py` says what each must do, `dispatch.py` which one runs and why. `use_backend` or the environment variable
`NSED_BACKEND` force one.
"""

from nsed.kernels.switch import use_backend

__all__ = ["use_backend"]
