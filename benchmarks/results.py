"""What was measured, kept with the machine that it holds for."""

import json
import platform
from pathlib import Path

import torch

from benchmarks.figures import Report
from benchmarks.setting import Setting

FOLDER = Path(__file__).parent / "results"


def save(folder: Path, name: str, setting: Setting, report: Report) -> Path:
    """Write a report to `name.json`, that of a GPU to `name-cuda.json`."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}{suffix(setting)}.json"
    path.write_text(json.dumps({"machine": machine(setting), "quick": setting.quick, **report}, indent=2) + "\n")
    return path


def saved(folder: Path, names: list[str], setting: Setting) -> dict[str, Report]:
    """The reports of these benchmarks for this kind of device, as far as there are any."""
    paths = {name: folder / f"{name}{suffix(setting)}.json" for name in names}
    return {name: json.loads(path.read_text()) for name, path in paths.items() if path.is_file()}


def suffix(setting: Setting) -> str:
    """What tells the files of a GPU from those of a CPU."""
    return "-cuda" if setting.on_gpu else ""


def machine(setting: Setting) -> dict[str, object]:
    """Processor or GPU, and versions."""
    device = torch.cuda.get_device_name(setting.device) if setting.on_gpu else platform.machine()
    return {
        "device": device,
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "python": platform.python_version(),
    }
