"""One step of gated recurrent units on a GPU, forward and backward; matrix products are done by others.

Gates stand in the order of torch's GRU: reset, update, new. All tables are [directions, steps, batch, ...].
"""

import triton
import triton.language as tl


@triton.jit
def sigmoid(x):
    """The logistic function."""
    return 1.0 / (1.0 + tl.exp(-x))


@triton.jit
def tanh(x):
    """The hyperbolic tangent, from the side where nothing overflows."""
    e = tl.exp(-2.0 * tl.abs(x))
    return tl.where(x >= 0, 1.0, -1.0) * (1.0 - e) / (1.0 + e)


@triton.jit(do_not_specialize=["step", "steps", "batch"])
def step_forward(gates, recurrent, bias, hidden, kept, step, steps, batch, DIM: tl.constexpr, BLOCK: tl.constexpr):
    """`gates` holds what the input says, and then the gates; `hidden[step]` is read, `hidden[step + 1]` written."""
    direction, row, k = tl.program_id(1).to(tl.int64), tl.program_id(0).to(tl.int64), tl.arange(0, BLOCK)
    inside = k < DIM
    here = (direction * steps + step) * batch + row
    gate, above = gates + here * 3 * DIM + k, recurrent + (direction * batch + row) * 3 * DIM + k
    base = bias + direction * 3 * DIM + k
    before = ((direction * (steps + 1) + step) * batch + row) * DIM + k
    reset = tl.load(gate, mask=inside) + tl.load(above, mask=inside) + tl.load(base, mask=inside)
    update = tl.load(gate + DIM, mask=inside) + tl.load(above + DIM, mask=inside) + tl.load(base + DIM, mask=inside)
    reset, update = sigmoid(reset), sigmoid(update)
    remembered = tl.load(above + 2 * DIM, mask=inside) + tl.load(base + 2 * DIM, mask=inside)
    new = tanh(tl.load(gate + 2 * DIM, mask=inside) + reset * remembered)
    after = (1.0 - update) * new + update * tl.load(hidden + before, mask=inside)
    tl.store(gate, reset, mask=inside)
    tl.store(gate + DIM, update, mask=inside)
    tl.store(gate + 2 * DIM, new, mask=inside)
    tl.store(kept + here * DIM + k, remembered, mask=inside)
    tl.store(hidden + before + batch * DIM, after, mask=inside)


@triton.jit(do_not_specialize=["step", "steps", "batch"])
def step_backward(
    gates, hidden, kept, gradient, carried, to_input, to_recurrent, step, steps, batch,
    DIM: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip  # an argument a line would be a page
    """Gradients by what enters a step's gates.

    `carried` comes with what later steps give to the hidden state after this one, and goes with what this one gives
    directly to the state before it.
    """
    direction, row, k = tl.program_id(1).to(tl.int64), tl.program_id(0).to(tl.int64), tl.arange(0, BLOCK)
    inside = k < DIM
    here = (direction * steps + step) * batch + row
    gate, carry = gates + here * 3 * DIM + k, carried + (direction * batch + row) * DIM + k
    before = ((direction * (steps + 1) + step) * batch + row) * DIM + k
    given = tl.load(gradient + here * DIM + k, mask=inside) + tl.load(carry, mask=inside)
    reset, update = tl.load(gate, mask=inside), tl.load(gate + DIM, mask=inside)
    new = tl.load(gate + 2 * DIM, mask=inside)
    to_new = given * (1.0 - update) * (1.0 - new * new)
    to_update = given * (tl.load(hidden + before, mask=inside) - new) * update * (1.0 - update)
    to_reset = to_new * tl.load(kept + here * DIM + k, mask=inside) * reset * (1.0 - reset)
    place = here * 3 * DIM + k
    tl.store(to_input + place, to_reset, mask=inside)
    tl.store(to_input + place + DIM, to_update, mask=inside)
    tl.store(to_input + place + 2 * DIM, to_new, mask=inside)
    tl.store(to_recurrent + place, to_reset, mask=inside)
    tl.store(to_recurrent + place + DIM, to_update, mask=inside)
    tl.store(to_recurrent + place + 2 * DIM, to_new * reset, mask=inside)
    tl.store(carry, given * update, mask=inside)
