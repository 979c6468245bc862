"""Shapes in signatures are checked while the tests run; everywhere else they are documentation."""

import os
from importlib.util import find_spec
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy comes; the processes of the tests share the cores

import pytest
import torch
from jaxtyping import install_import_hook

COMPILED = ("numba_", "triton_")
"""Files whose functions other compilers read: nothing may be wrapped around them."""
SOURCE = Path(__file__).parent / "src"
CHECKED = [
    ".".join(path.relative_to(SOURCE).with_suffix("").parts)
    for path in SOURCE.rglob("*.py")
    if path.name != "__init__.py"
    and not path.name.startswith(("numba_", "triton_"))  # what is compiled must be left alone
]
collect_ignore_glob = [f"**/{start}*" for start in COMPILED if find_spec(start.rstrip("_")) is None]
install_import_hook(CHECKED, "beartype.beartype")

torch.set_num_threads(1)  # the tests' tensors are small: more threads only wait for each other


SLOW_FILES = frozenset(
    {
        "README.md",
        "docs/rules.md",
        "tests/test_kernels.py",
        "tests/lattice/test_gradients.py",
        "tests/models/test_bulk_scores.py",
        "tests/models/test_fused_scores.py",
    }
)
"""Whole files that are slow: documents, which cannot carry a marker, and checks of every kernel."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of slow files as slow."""
    for item in items:
        if item.path.relative_to(item.config.rootpath).as_posix() in SLOW_FILES:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The paper's data sets, where NSED_DATA points; without them the test is skipped."""
    folder = os.environ.get("NSED_DATA", "")
    if not folder:
        pytest.skip("the paper's data sets are not here: set NSED_DATA to their folder")
    assert Path(folder).is_dir(), f"NSED_DATA: got {folder}, expected a folder of data sets"
    return Path(folder)
