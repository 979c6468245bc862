"""Registry of an explanation's pictures by name."""

from collections.abc import Callable, Mapping

from nsed.errors import UnknownNameError
from nsed.explain.explanation import Evidence
from nsed.explain.render.grid import Grid, grid_svg
from nsed.explain.render.heat_maps import alpha_grid, posterior_grid
from nsed.explain.render.lattice_picture import lattice_svg
from nsed.explain.render.waterfall import waterfall_svg

GRIDS: Mapping[str, Callable[[Evidence], Grid]] = {"alpha": alpha_grid, "posteriors": posterior_grid}
PICTURES = (*GRIDS, "lattice", "waterfall")
"""Picture names."""


def check_picture(name: str) -> None:
    """Picture name check. Raises `UnknownNameError` for a picture that there is not."""
    if name not in PICTURES:
        raise UnknownNameError("picture", got=repr(name), expected=" | ".join(PICTURES))


def to_svg(evidence: Evidence, name: str) -> str:
    """SVG of one picture."""
    check_picture(name)
    if name in GRIDS:
        return grid_svg(GRIDS[name](evidence))
    return lattice_svg(evidence) if name == "lattice" else waterfall_svg(evidence)
