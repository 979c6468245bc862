"""Shapes in signatures are checked while the tests run; everywhere else they are documentation."""

import os
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
from jaxtyping import install_import_hook

COMPILED = ("numba", "triton")
"""Folders of kernels whose functions other compilers read: nothing may be wrapped around them."""
SOURCE = Path(__file__).parent / "src"
KERNELS = SOURCE / "nsed" / "kernels"
CHECKED = [
    ".".join(path.relative_to(SOURCE).with_suffix("").parts)
    for path in SOURCE.rglob("*.py")
    if path.name != "__init__.py" and path.parent not in [KERNELS / name for name in COMPILED]
]
collect_ignore_glob = [str(KERNELS / name / "*") for name in COMPILED if find_spec(name) is None]
install_import_hook(CHECKED, "beartype.beartype")

torch.set_num_threads(1)  # the tests' tensors are small: more threads only wait for each other


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The paper's data sets: where NSED_DATA points, or beside the project. Without them the test is skipped."""
    folder = Path(os.environ.get("NSED_DATA", Path(__file__).parents[1] / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("the paper's data sets are not here: set NSED_DATA to their folder")
    return folder
