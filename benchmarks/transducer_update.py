"""An update of a Transducer on CMUDict: ours, as published, and the sequence-to-sequence twin.

As published: the paper's losses by loops over the cells, batches as they come. Beside it, to tell the parts apart: a
loop over the cells with our loss in our batches (of similar lengths), and our code with the paper's losses.
"""

from benchmarks import paper_loop, published
from benchmarks.data import words
from benchmarks.figures import Bar, Figure, Report, at_least, at_most
from benchmarks.setting import Setting
from benchmarks.tasks import OtherLoss, numbers_of, paper_config, transducer_config, transducer_task, twin_task
from benchmarks.timing import OURS_OVER_IT, SLOWER, compare, compared
from benchmarks.updates import Updates, same_loss
from nsed.models.transducer import TransducerTask
from nsed.text import PairBatch
from nsed.train.task import Task

BATCH = 512
PUBLISHED = {"rnn": at_least(10), "unigram": at_least(40)}


def measure(setting: Setting) -> Report:
    """Milliseconds per update with both encoders."""
    figures: dict[str, Figure] = {}
    for kind in ("rnn", "unigram"):
        figures |= _figures(setting, kind)
    return {"batch": _batch(setting), "data": words(setting).origin, "figures": figures}


def published_task(task: TransducerTask) -> OtherLoss:
    """The network of a task with our loss and in our batches, but cell by cell."""
    return OtherLoss(task, lambda batch: published.transducer_loss(task.network, PairBatch(*batch)).mean())


def paper_task(task: TransducerTask) -> OtherLoss:
    """The network of a task, trained as published: the paper's losses by its loops, in batches of any lengths."""
    return OtherLoss(
        task, lambda batch: paper_loop.transducer_loss(task.network, PairBatch(*batch)).mean(), any_length=True
    )


WAYS = "as published", "loop over cells", "sequence-to-sequence twin", "the paper's mode"


def _figures(setting: Setting, kind: str) -> dict[str, Figure]:
    ours, *others = _tasks(setting, kind)
    names = kind, *(f"{kind}, {way}" for way in WAYS)
    count, batch = setting.pick(cpu=4, cuda=10, quick=1), _batch(setting)
    trained = {kind: Updates(ours, setting, count=count, batch=batch)}
    for name, task in zip(names[1:], others, strict=True):
        trained[name] = Updates(task, setting, count=count, batch=batch, cuda_graph=not isinstance(task, OtherLoss))
    times = compare(trained, setting, rounds=setting.pick(cpu=3, cuda=7, quick=2), refill=False)
    bar, to_published, to_twin = _bars(setting, kind)
    ratios = (SLOWER, to_published), (SLOWER, None), (OURS_OVER_IT, to_twin), (SLOWER, None)
    return compared(times, kind, dict(zip(names[1:], ratios, strict=True)), bar=bar, count=count)


def _tasks(setting: Setting, kind: str) -> tuple[Task, ...]:
    """Ours, and the `WAYS`; those that compute the same loss are seen to do so."""
    config, paper = transducer_config(setting, kind), paper_config(setting, kind)
    data = numbers_of(words(setting).pairs, config)
    ours, again = (transducer_task(setting, config, data) for _ in range(2))
    in_paper_mode, looped = (transducer_task(setting, paper, data) for _ in range(2))
    as_published, loop = paper_task(looped), published_task(again)
    same_loss(ours, loop, setting)
    same_loss(in_paper_mode, as_published, setting)
    return ours, as_published, loop, twin_task(setting, config, data), in_paper_mode


def _bars(setting: Setting, kind: str) -> tuple[Bar | None, Bar | None, Bar | None]:
    """Of our time, of the published way's ratio and of the twin's."""
    if kind != "rnn":
        return None, setting.bar(cpu=PUBLISHED[kind]), None
    return (
        setting.bar(cuda=at_most(6)),
        setting.bar(cpu=PUBLISHED[kind]),
        setting.bar(cpu=at_most(1.3), cuda=at_most(1.15)),
    )


def _batch(setting: Setting) -> int:
    return 64 if setting.quick else BATCH
