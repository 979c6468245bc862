"""An update of a Matcher on Indo-European cognates."""

from benchmarks.data import cognates
from benchmarks.figures import Report, at_most, figure
from benchmarks.setting import Setting
from benchmarks.tasks import matcher_config, matcher_task, numbers_of
from benchmarks.timing import compare
from benchmarks.updates import Updates

BATCH = 512
BARS = {"rnn": at_most(3), "unigram": at_most(1)}


def measure(setting: Setting) -> Report:
    """Milliseconds per update with both encoders."""
    batch, count = setting.pick(cpu=BATCH, cuda=BATCH, quick=64), setting.pick(cpu=8, cuda=30, quick=1)
    trained = {}
    for kind in BARS:
        config = matcher_config(setting, kind)
        task = matcher_task(setting, config, numbers_of(cognates(setting).pairs, config))
        trained[kind] = Updates(task, setting, count=count, batch=batch)
    times = compare(trained, setting, rounds=setting.pick(cpu=5, cuda=9, quick=2), refill=False)
    figures = {
        kind: figure([time / count for time in taken], "ms", bar=setting.bar(cuda=BARS[kind]))
        for kind, taken in times.items()
    }
    return {"batch": batch, "data": cognates(setting).origin, "figures": figures}
