"""Shapes in signatures are checked while the fast tests run; everywhere else they are documentation."""

import os
import re
import sys
from collections.abc import Iterator
from functools import cache, wraps
from importlib.util import find_spec
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy comes; the processes of the tests share the cores

import pytest
import torch
from jaxtyping import config as jaxtyping_config
from jaxtyping import install_import_hook

COMPILED = ("numba", "triton")
"""Folders of kernels whose functions other compilers read: nothing may be wrapped around them."""
SOURCE = Path(__file__).parent / "src"
KERNELS = SOURCE / "nsed" / "kernels"
CHECKED = [
    ".".join(path.relative_to(SOURCE).with_suffix("").parts)
    for path in SOURCE.rglob("*.py")
    if path.name != "__init__.py"
    and path.parent not in [KERNELS / name for name in COMPILED]
    and re.search(r"jaxtyping|nsed\.types", path.read_text(encoding="utf-8"))
]
"""Modules with shapes in signatures; the plain types of the others are for mypy."""
TUTORIALS = (
    Path(__file__).parent / "docs" / "tutorials" / "*"
)  # run whole, commands and all, by tests/test_tutorials.py
collect_ignore_glob = [str(TUTORIALS), *(str(KERNELS / name / "*") for name in COMPILED if find_spec(name) is None)]
if find_spec("phonetisaurus") is None:  # there is none but for Linux
    collect_ignore_glob.append(str(SOURCE / "nsed" / "baselines" / "phonetisaurus.py"))
install_import_hook(CHECKED, "beartype.beartype")

sys.dont_write_bytecode = False  # rewritten assertions are kept: a second run of the tests begins ten seconds earlier
torch.set_num_threads(1)  # the tests' tensors are small: more threads only wait for each other


SLOW_FILES = frozenset(
    {
        "README.md",
        "docs/compare.md",
        "docs/concepts/mixtures.md",
        "docs/export.md",
        "docs/extend.md",
        "docs/quickstart.md",
        "docs/rules.md",
        "docs/train.md",
        "src/nsed/baselines/lingpy.py",
        "src/nsed/jobs/linking.py",
        "tests/baselines/test_classifier.py",
        "tests/datasets/test_loading.py",
        "tests/explain/test_rules.py",
        "tests/export/test_onnx.py",
        "tests/golden/test_golden.py",
        "tests/jobs/test_fixed_batches.py",
        "tests/kernels/test_gru.py",
        "tests/kernels/test_match_scores.py",
        "tests/kernels/test_pair_scores.py",
        "tests/kernels/test_table_scores.py",
        "tests/kernels/test_triton.py",
        "tests/lattice/test_extremes.py",
        "tests/lattice/test_gradients.py",
        "tests/lite/test_answers.py",
        "tests/models/test_matcher_mixture.py",
        "tests/reproduce/test_grid.py",
        "tests/reproduce/test_runs.py",
        "tests/test_configs.py",
        "tests/train/test_split.py",
        "tests/web/test_hostile_input.py",
        "tests/web/test_label.py",
        "tests/web/test_slow_clients.py",
        "tests/web/test_telemetry.py",
    }
)
"""Whole files that are slow: documents, which cannot carry a marker, checks of every kernel, trainings, servers."""


LONG_FILES = (
    "tests/baselines/test_classifier.py",
    "tests/cli/test_resume.py",
    "tests/models/test_transducer_learning.py",
    "tests/models/test_matcher_learning.py",
    "tests/baselines/test_seq2seq.py",
    "tests/kernels/test_triton.py",
    "tests/test_project.py",
    "tests/test_tutorials.py",
    "tests/train/test_strategy.py",
    "tests/cli/test_overview.py",
)
"""Files that take longest, in the order in which they start: the short ones at the end keep all processes busy."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of slow files as slow, and let long files begin."""
    for item in items:
        if _file(item) in SLOW_FILES:
            item.add_marker(pytest.mark.slow)
    places = {name: place for place, name in enumerate(LONG_FILES)}
    items.sort(key=lambda item: places.get(_file(item), len(places)))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Check shapes in fast tests only: slow ones train for thousands of steps, of which checks take a third."""
    jaxtyping_config.update("jaxtyping_disable", item.get_closest_marker("slow") is not None)


def _file(item: pytest.Item) -> str:
    return item.path.relative_to(item.config.rootpath).as_posix()


@pytest.fixture(scope="session", autouse=True)
def light_run_folders() -> Iterator[None]:
    """Trainings read their settings' help texts from the source once, and draw no curves: an empty file is there.

    `tests/train/test_run_folder.py` draws them.
    """
    from nsed import config
    from nsed.train import run_folder

    @wraps(run_folder.draw_curves)
    def no_curves(table: Path, picture: Path) -> None:
        picture.touch()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(config, "field_help", cache(config.field_help))
        patch.setattr(run_folder, "draw_curves", no_curves)
        yield


@pytest.fixture(autouse=True)
def registered_here(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """An encoder that a document registers is unknown again to the next one."""
    if request.node.path.suffix == ".md":
        from nsed.encoders import ENCODERS

        monkeypatch.setattr(ENCODERS, "_entries", dict(ENCODERS._entries))


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The paper's data sets, where NSED_DATA points; without them the test is skipped."""
    folder = os.environ.get("NSED_DATA", "")
    if not folder:
        pytest.skip("the paper's data sets are not here: set NSED_DATA to their folder")
    assert Path(folder).is_dir(), f"NSED_DATA: got {folder}, expected a folder of data sets"
    return Path(folder)
