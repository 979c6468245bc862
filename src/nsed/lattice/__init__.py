"""The edit lattice: tensors in, tensors out. README.md in this folder has the picture and the index convention."""

from nsed.lattice.arcs import Arcs
from nsed.lattice.lattice import EditLattice
from nsed.lattice.paths import Operation, Paths, Step
from nsed.lattice.reference import ReferenceBackend
from nsed.types import NEG

__all__ = ["NEG", "Arcs", "EditLattice", "Operation", "Paths", "ReferenceBackend", "Step"]
