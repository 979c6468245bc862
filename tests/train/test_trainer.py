"""The training loop on a task of its own: order, schedules, checkpoints, exact resumption."""

import time
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from nsed.errors import NsedError
from nsed.train import optimiser
from nsed.train.config import TrainConfig
from nsed.train.optimiser import Schedule, Updates, WeightAverage
from nsed.train.task import Task
from nsed.train.trainer import Trainer, epoch_batches


class Line(Task):
    """Fit a line, with dropout, so that random states matter."""

    metric, higher_is_better = "error", False

    def __init__(self, seed=0):
        torch.manual_seed(seed)
        self.network = nn.Sequential(nn.Linear(1, 8), nn.Dropout(0.2), nn.Linear(8, 1))
        self.x = torch.linspace(-1, 1, 103)[:, None]
        self.seen = []

    @property
    def sizes(self):
        return np.arange(103) % 7

    def widths(self, rows, *, multiple=1):
        return ()

    def batch(self, rows, widths):
        self.seen.append(rows.tolist())
        return (self.x[rows],)

    def loss(self, batch):
        (x,) = batch
        return (self.network(x) - 2 * x).square().mean()

    def validate(self):
        return {"error": float((self.network(self.x) - 2 * self.x).square().mean().detach())}


SETTINGS = TrainConfig(steps=60, batch_pairs=10, validate_every=10, warmup=5, learning_rate=0.03)


def test_every_row_comes_once_per_epoch_in_an_order_of_its_own():
    sizes = np.random.default_rng(0).integers(0, 20, 1003)
    first, again, second = (epoch_batches(sizes, batch_pairs=16, seed=1, epoch=e) for e in (0, 0, 1))
    assert sorted(np.concatenate(first).tolist()) == list(range(1003))
    assert all((a == b).all() for a, b in zip(first, again, strict=True))
    assert not (np.concatenate(first) == np.concatenate(second)).all()
    spread = np.mean([np.ptp(sizes[batch]) for batch in first])
    assert spread < 3


def test_training_ends_with_its_minutes_not_at_the_validation_after_them():
    trainer = Trainer(Line(), replace(SETTINGS, minutes=1e-9))
    trainer.run()
    assert (trainer.step, len(trainer.validations)) == (1, 1)
    unhurried = Trainer(Line(), replace(SETTINGS, minutes=10.0))
    unhurried.run()
    assert unhurried.step == 60


def test_the_minutes_before_an_interruption_count_for_what_is_tuned_afterwards_too(tmp_path):
    settings = replace(SETTINGS, minutes=10.0)
    begun = Trainer(Line(), settings, tmp_path)
    begun._budget.begin(400.0)
    with pytest.raises(KeyboardInterrupt):
        begun.run(on_step=lambda step: interrupt(step, 13))
    resumed = Trainer(Line(), settings, tmp_path)
    assert resumed.deadline - time.monotonic() == pytest.approx(600, abs=5)
    assert resumed.resume()
    assert resumed.deadline - time.monotonic() == pytest.approx(200, abs=10)


class Hour(Line):
    """A task whose updates take a second each, the first one, which compiles, ten, and every validation three."""

    def __init__(self, clock, **rest):
        super().__init__()
        self.clock = clock
        vars(self).update(rest)

    def loss(self, batch):
        self.clock[0] += 1 if len(self.seen) > 1 else 10
        return super().loss(batch)

    def validate(self):
        self.clock[0] += 3
        return super().validate()


@pytest.mark.parametrize(
    ("rest", "seconds"),
    [
        ({}, 600),
        ({"training_share": 0.1}, 60),
        ({"training_share": 0.1, "updates_afterwards": 40}, 540),
        ({"training_share": 0.1, "updates_afterwards": 10_000}, 60),
    ],
)
def test_training_has_what_is_tuned_afterwards_does_not_need_of_the_minutes(rest, seconds, monkeypatch):
    """Odds with minutes for a million updates ended after a sixth of these, and the rest was hardly used."""
    clock = [0.0]
    monkeypatch.setattr(optimiser.time, "monotonic", lambda: clock[0])
    trainer = Trainer(Hour(clock, **rest), replace(SETTINGS, minutes=10.0, steps=10**6, patience=10**6))
    trainer.run()
    assert clock[0] == pytest.approx(seconds, abs=6)


def test_a_validation_after_which_there_is_no_time_for_another_one_is_the_last(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(optimiser.time, "monotonic", lambda: clock[0])
    trainer = Trainer(Hour(clock), replace(SETTINGS, minutes=24 / 60, steps=10**6))  # 10 updates and one in 22 s
    trainer.run()
    assert ([one.step for one in trainer.validations], clock[0]) == ([10], 22.0)


@pytest.mark.parametrize(("minutes", "kept"), [(10.0, 1.0), (0.1, 0.3)])
def test_a_moment_of_the_minutes_is_kept_for_the_end_of_a_training_that_is_saved(minutes, kept, tmp_path):
    settings = replace(SETTINGS, minutes=minutes)
    saved, unsaved = Trainer(Line(), settings, tmp_path), Trainer(Line(), settings)
    assert unsaved.deadline - saved.deadline == pytest.approx(kept, abs=0.1)


def test_the_cosine_ends_with_the_minutes_where_these_are_over_before_the_steps():
    schedule = Schedule(replace(SETTINGS, steps=1000, warmup=0))
    assert schedule.factor(1, spent=0.5) == pytest.approx(0.5)
    assert schedule.factor(1, spent=1.0) == pytest.approx(0)
    assert schedule.factor(900, spent=0.5) == schedule.factor(900)


def test_the_last_weights_are_kept_where_validation_cannot_tell():
    task = Line()
    trainer = Trainer(task, replace(SETTINGS, keep="last", learning_rate=0.3))
    trainer.run()
    task.network.eval()
    assert trainer.best_step == 60
    assert trainer.record["error"] == trainer.validations[-1].metrics["error"] == task.validate()["error"]


def test_training_ends_when_nothing_is_wrong_any_more():
    task = Line()
    task.validate = lambda: {"error": 0.0}
    trainer = Trainer(task, replace(SETTINGS, perfect=2))
    trainer.run()
    assert trainer.step == 20


def test_training_improves_and_keeps_the_best_weights():
    task = Line()
    trainer = Trainer(task, SETTINGS)
    trainer.run()
    assert trainer.validations[-1].loss < trainer.validations[0].loss
    task.network.eval()
    assert task.validate()["error"] == min(validation.metrics["error"] for validation in trainer.validations)


@pytest.mark.parametrize("schedule", ["cosine", "plateau", "constant"])
@pytest.mark.parametrize(("stop", "average"), [(10, 0.0), (30, 0.9)])
def test_resumed_training_ends_with_the_same_weights_bit_for_bit(tmp_path, schedule, stop, average):
    settings = TrainConfig(**{**vars(SETTINGS), "schedule": schedule, "accumulate": 2, "average": average})
    whole = Line()
    Trainer(whole, settings).run()
    interrupted = Trainer(Line(), settings, tmp_path)
    with pytest.raises(KeyboardInterrupt):
        interrupted.run(on_step=lambda step: interrupt(step, stop + 3))
    resumed = Line(seed=99)
    trainer = Trainer(resumed, settings, tmp_path)
    assert trainer.resume()
    assert trainer.step == stop
    trainer.run()
    for one, other in zip(whole.network.state_dict().values(), resumed.network.state_dict().values(), strict=True):
        assert torch.equal(one, other)


def test_a_training_killed_before_its_first_validation_is_not_lost(tmp_path):
    """It saves itself by time, and goes on with the same random numbers and the same mean loss in its curve."""
    whole, resumed = Line(), Line(seed=99)
    undisturbed = Trainer(whole, SETTINGS)
    undisturbed.run()
    for stop in (8, 9, 16):  # before and after the first validation; and what was resumed is killed once more
        trainer = Trainer(Line(seed=stop - 8), replace(SETTINGS, save_seconds=1e-9), tmp_path)
        assert trainer.resume() == (stop != 8)
        with pytest.raises(KeyboardInterrupt):
            trainer.run(on_step=lambda step, stop=stop: interrupt(step, stop))
        assert trainer.step == stop
    trainer = Trainer(resumed, SETTINGS, tmp_path)
    assert trainer.resume()
    assert trainer.step == 15
    trainer.run()
    assert trainer.validations == undisturbed.validations
    for one, other in zip(whole.network.state_dict().values(), resumed.network.state_dict().values(), strict=True):
        assert torch.equal(one, other)


def test_a_training_saves_itself_between_validations_only_when_it_is_time(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        Trainer(Line(), SETTINGS, tmp_path).run(on_step=lambda step: interrupt(step, 9))
    with pytest.raises(KeyboardInterrupt):
        Trainer(Line(), replace(SETTINGS, save_seconds=0.0), tmp_path).run(on_step=lambda step: interrupt(step, 9))
    assert list(tmp_path.iterdir()) == []


def test_a_loss_that_is_no_number_is_never_saved(tmp_path):
    class Breaking(Line):
        def loss(self, batch):
            return super().loss(batch) * (float("nan") if len(self.seen) > 3 else 1.0)

    trainer = Trainer(Breaking(), replace(SETTINGS, save_seconds=1e-9), tmp_path)
    with pytest.raises(NsedError, match=r"the loss is nan at step 4: try a smaller train\.learning_rate"):
        trainer.run()
    before = Trainer(Line(), SETTINGS, tmp_path)
    assert before.resume()
    assert before.step == 3


def interrupt(step, at):
    if step == at:
        raise KeyboardInterrupt


def test_averaged_weights_are_the_running_average():
    network = nn.Linear(1, 1, bias=False)
    average, values = WeightAverage(network, 0.75), [3.0, 5.0, 9.0, 1.0, 2.0]
    for step, value in enumerate(values, start=1):
        nn.init.constant_(network.weight, value)
        average.now(step)
        average.update()
    expected = np.mean(values[:4]) * 0.75 + 2.0 * 0.25
    with average.in_use():
        assert float(network.weight.detach()) == pytest.approx(expected)
    assert float(network.weight.detach()) == 2.0


def test_there_is_nothing_to_resume_in_an_empty_folder(tmp_path):
    assert not Trainer(Line(), SETTINGS, tmp_path).resume()
    assert not Trainer(Line(), SETTINGS).resume()


def test_cosine_rises_and_falls():
    schedule = Schedule(TrainConfig(steps=100, warmup=10))
    factors = [schedule.factor(step) for step in range(1, 101)]
    assert factors[0] == pytest.approx(0.1)
    assert max(factors) == factors[9] == 1.0
    assert factors[54] == pytest.approx(0.5, abs=0.02)
    assert factors[-1] == pytest.approx(0.0, abs=1e-9)


def test_plateau_decays_as_in_the_paper():
    """Times 0.7 after two validations without improvement, over after ten decays."""
    schedule = Schedule(TrainConfig(schedule="plateau", warmup=0))
    for improved in (True, False, False, True, False):
        schedule.observe(improved=improved)
    assert schedule.factor(1) == pytest.approx(0.7)
    validations = 0
    while not schedule.exhausted:
        schedule.observe(improved=False)
        validations += 1
    assert validations == 17
    assert schedule.factor(1) == pytest.approx(0.7**10)


def test_training_ends_early_without_improvement():
    class Stuck(Line):
        def validate(self):
            return {"error": 1.0}

    trainer = Trainer(Stuck(), TrainConfig(**{**vars(SETTINGS), "steps": 1000, "patience": 3}))
    trainer.run()
    assert trainer.step == 40


def settings(**others):
    return TrainConfig(**{**vars(SETTINGS), **others})


def test_of_equally_good_weights_those_that_learned_longer_are_kept():
    class Stuck(Line):
        def validate(self):
            return {"error": 1.0}

    trainer = Trainer(Stuck(), settings(steps=30))
    trainer.run()
    assert trainer.record == {"steps": 30, "best_step": 30, "error": 1.0}


def test_a_loss_that_is_no_number_ends_the_training():
    class Broken(Line):
        def loss(self, batch):
            return super().loss(batch) * float("nan")

    with pytest.raises(NsedError, match=r"the loss is nan at step 10: try a smaller train\.learning_rate"):
        Trainer(Broken(), SETTINGS).run()


def test_the_gradients_of_an_update_have_weights_that_sum_to_one():
    """Adam does not notice when a gradient is four times as large, but clipping does."""
    trainer, shares = Trainer(Line(), settings(accumulate=4)), []
    add = trainer.gradients.add

    def spy(rows, share):
        shares.append(share)
        return add(rows, share)

    trainer.gradients.add = spy
    trainer.advance()
    assert shares == [0.25] * 4


def test_another_seed_gives_another_order():
    sizes = np.zeros(100, dtype=int)
    orders = [np.concatenate(epoch_batches(sizes, batch_pairs=8, seed=seed, epoch=0)) for seed in (0, 0, 1)]
    assert (orders[0] == orders[1]).all()
    assert not (orders[0] == orders[2]).all()


def weight_after_an_update(gradient, **others):
    """Of a network that is one number, 1.0, after an update at a learning rate of 0.1."""
    network = nn.Linear(1, 1, bias=False)
    nn.init.constant_(network.weight, 1.0)
    network.weight.grad = torch.full((1, 1), gradient)
    Updates(network, settings(**others)).apply(0.1, 1)
    return float(network.weight.detach())


def test_adamw_lets_weights_decay_and_adam_does_not():
    assert weight_after_an_update(0.0, weight_decay=0.5) == pytest.approx(1 - 0.1 * 0.5)
    assert weight_after_an_update(0.0, weight_decay=0.0) == 1.0
    assert weight_after_an_update(0.0, optimiser="adam", weight_decay=0.5) == 1.0


def test_a_gradient_is_cut_to_the_norm_that_is_allowed():
    """Adam divides by the gradient's size, but for a little number that is larger than what is left here."""
    steps = [1 - weight_after_an_update(1.0, optimiser="adam", clip=clip) for clip in (1.0, 1e-9)]
    assert steps[0] == pytest.approx(0.1, rel=1e-3)
    assert 0 < steps[1] < 0.02


def test_the_learning_rate_rises_for_a_quarter_of_the_steps_at_most():
    schedule = Schedule(settings(steps=8, warmup=400))
    assert [schedule.factor(step) for step in (1, 2)] == [0.5, 1.0]
