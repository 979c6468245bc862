"""An update of a Transducer on CMUDict: ours, the published loop over cells, the sequence-to-sequence twin."""

from torch import Tensor

from benchmarks import published
from benchmarks.data import words
from benchmarks.figures import Bar, Figure, Report, at_least, at_most
from benchmarks.setting import Setting
from benchmarks.tasks import OtherLoss, numbers_of, transducer_config, transducer_task, twin_task
from benchmarks.timing import OURS_OVER_IT, SLOWER, compare, compared
from benchmarks.updates import Updates, same_loss
from nsed.text import PairBatch
from nsed.train.task import Batch
from nsed.train.transducer_task import TransducerTask

BATCH = 512
LOOP = {"rnn": at_least(10), "unigram": at_least(40)}


def measure(setting: Setting) -> Report:
    """Milliseconds per update with both encoders."""
    figures: dict[str, Figure] = {}
    for kind in ("rnn", "unigram"):
        figures |= _figures(setting, kind)
    return {"batch": _batch(setting), "data": words(setting).origin, "figures": figures}


def published_task(task: TransducerTask, *, gathered: bool = False) -> OtherLoss:
    """The network of a task, trained in the published way."""

    def loss(batch: Batch) -> Tensor:
        return published.transducer_loss(task.network, PairBatch(*batch), gathered=gathered).mean()

    return OtherLoss(task, loss)


def _figures(setting: Setting, kind: str) -> dict[str, Figure]:
    config = transducer_config(setting, kind)
    data = numbers_of(words(setting).pairs, config)
    ours, again, third = (transducer_task(setting, config, data) for _ in range(3))
    loop, lean, twin = published_task(again), published_task(third, gathered=True), twin_task(setting, config, data)
    same_loss(ours, loop, setting)
    same_loss(ours, lean, setting)
    ways = "loop over cells", "sequence-to-sequence twin", "loop over cells, labels gathered before"
    names = kind, *(f"{kind}, {way}" for way in ways)
    count = setting.pick(cpu=4, cuda=30, quick=1)
    trained = {
        names[0]: Updates(ours, setting, count=count, batch=_batch(setting)),
        names[1]: Updates(loop, setting, count=count, batch=_batch(setting), cuda_graph=False),
        names[2]: Updates(twin, setting, count=count, batch=_batch(setting)),
        names[3]: Updates(lean, setting, count=count, batch=_batch(setting), cuda_graph=False),
    }
    times = compare(trained, setting, rounds=setting.pick(cpu=5, cuda=9, quick=2), refill=False)
    bar, to_loop, to_twin = _bars(setting, kind)
    others = {names[1]: (SLOWER, to_loop), names[2]: (OURS_OVER_IT, to_twin), names[3]: (SLOWER, None)}
    return compared(times, names[0], others, bar=bar, count=count)


def _bars(setting: Setting, kind: str) -> tuple[Bar | None, Bar | None, Bar | None]:
    """Of our time, of the loop's ratio and of the twin's."""
    if kind != "rnn":
        return None, setting.bar(cpu=LOOP[kind]), None
    return (
        setting.bar(cuda=at_most(6)),
        setting.bar(cpu=LOOP[kind]),
        setting.bar(cpu=at_most(1.3), cuda=at_most(1.15)),
    )


def _batch(setting: Setting) -> int:
    return 64 if setting.quick else BATCH
