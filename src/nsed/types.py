"""The glossary of axes, the array types used in signatures, and the few numbers that all rooms agree on.

| axis    | meaning                                                             | size            |
|---------|---------------------------------------------------------------------|-----------------|
| `batch` | pairs of strings worked on together                                 | any, 0 included |
| `src`   | lattice rows: how many source symbols are consumed, 0 .. n          | n + 1           |
| `tgt`   | lattice columns: how many target symbols are produced, 0 .. m       | m + 1           |
| `steps` | places for operations on one path; shorter paths end in zeros       | n + m           |
| `3`     | the arcs into a cell, in this order: delete, insert, substitute     | 3               |
| `paths` | sampled paths of one pair                                           | k               |
| `n`     | source symbols of the longest source string in a batch              | n               |
| `m`     | target symbols of the longest target string in a batch              | m               |

`n` and `m` are the padded sizes of the batch; a pair's own sizes are its `source_lengths` and `target_lengths`.
Shapes are checked at run time under pytest only.
"""

from jaxtyping import Float, Int
from torch import Tensor

NEG = -1e30
"""Log-weight of an arc that cannot be used. Finite, so that no recursion ever meets inf - inf."""

REACHABLE = NEG / 2
"""Log-weights above this belong to real derivations; NEG plus anything sensible stays below it."""

PAD, UNKNOWN, START, END = range(4)
"""The numbers of the symbols that every vocabulary begins with: padding, `<unk>`, `<s>` and `</s>`."""

Table = Float[Tensor, "batch src tgt"]
"""One number per lattice cell, or per arc that enters the cell: what users give and get."""

Cells = Float[Tensor, "src tgt batch"]
"""A table as the lattice works on it: the batch innermost, so that cells of many pairs lie side by side."""

Stack = Float[Tensor, "3 src tgt batch"]
"""Three numbers per cell, one for each arc that enters it."""

Lengths = Int[Tensor, " batch"]
"""Each string's own number of symbols."""

PerPair = Float[Tensor, " batch"]
"""One number per pair of strings."""
