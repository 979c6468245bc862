"""How an update of ours grows with the batch and with the length of the strings."""

from benchmarks.figures import Report, quantiles
from benchmarks.setting import Setting
from benchmarks.tasks import fixed_numbers, matcher_config, matcher_task, transducer_config, transducer_task
from benchmarks.timing import compare
from benchmarks.updates import Updates
from nsed.train.task import Task

BATCHES, LENGTHS = (64, 256, 1024, 4096), (5, 10, 20, 40)
FIXED_LENGTH = 8
MODELS = ("transducer", "matcher")


def measure(setting: Setting) -> Report:
    """Milliseconds per update of RNN models, on random strings of full length."""
    batches = setting.pick(cpu=BATCHES, cuda=BATCHES, quick=(4, 8))
    lengths = setting.pick(cpu=LENGTHS, cuda=LENGTHS, quick=(3, 5))
    fixed = setting.pick(cpu=128, cuda=512, quick=8)
    growth = {}
    for model in MODELS:
        growth[f"{model}, batch"] = {batch: _time(setting, model, batch, FIXED_LENGTH) for batch in batches}
        growth[f"{model}, length"] = {length: _time(setting, model, fixed, length) for length in lengths}
    return {"length of the batches": FIXED_LENGTH, "batch of the lengths": fixed, "figures": {}, "growth": growth}


def _time(setting: Setting, model: str, batch: int, length: int) -> dict[str, float]:
    updates = Updates(_task(setting, model, batch, length), setting, count=1, batch=batch)
    times = compare({model: updates}, setting, rounds=setting.pick(cpu=3, cuda=15, quick=2), refill=False)
    return quantiles(times[model])


def _task(setting: Setting, model: str, batch: int, length: int) -> Task:
    if model == "matcher":
        data = fixed_numbers(batch, length, symbols=(300, 300))
        return matcher_task(setting, matcher_config(setting, "rnn"), data)
    data = fixed_numbers(batch, length, symbols=(31, 43))
    return transducer_task(setting, transducer_config(setting, "rnn"), data)
