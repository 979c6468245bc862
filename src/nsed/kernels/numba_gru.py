"""What a gated recurrent unit does in a step beside its matrix products, compiled: one pass over the hidden states."""

from numba import njit

from nsed.kernels.numba_math import exp_below_zero

compiled = njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})


@compiled
def _advance(of_input, of_hidden, hidden, out):
    zero, one, dim = hidden.dtype.type(0), hidden.dtype.type(1), hidden.size
    for k in range(dim):
        total = of_input[k] + of_hidden[k]
        small = exp_below_zero(-abs(total))
        reset = (one if total > zero else small) / (one + small)
        total = of_input[dim + k] + of_hidden[dim + k]
        small = exp_below_zero(-abs(total))
        update = (one if total > zero else small) / (one + small)
        total = of_input[dim + dim + k] + reset * of_hidden[dim + dim + k]
        small = exp_below_zero(-abs(total) - abs(total))
        new = (one - small) / (one + small)
        new = new if total > zero else -new
        hidden[k] = new + update * (hidden[k] - new)
        out[k] = hidden[k]


@compiled
def step(of_inputs, numbers, of_hidden, hidden, out, places):
    """The next symbol of every string: new hidden states, also into `out` at the symbols' places.

    The products of a symbol's vector with the weights are row `numbers[string]` of `of_inputs`.
    """
    for string in range(len(hidden)):
        at = places[string]
        _advance(of_inputs[numbers[string]], of_hidden[string], hidden[string], out[string, at])
