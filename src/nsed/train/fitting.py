"""A training from its beginning, or from where it was left, to its end; the same for every model."""

from pathlib import Path
from typing import Any

from nsed.text import Pairs
from nsed.train.identity import identity_of
from nsed.train.preparation import ModelConfig
from nsed.train.progress import OnStep, OnValidation, Validation
from nsed.train.run_folder import RunFolder
from nsed.train.task import Task
from nsed.train.trainer import Trainer


def trained(
    task: Task,
    config: ModelConfig,
    data: tuple[Pairs, Pairs],
    *,
    folder: str | Path | None,
    on_step: OnStep,
    on_validation: OnValidation,
) -> Trainer:
    """The trainer after its work; the task's network has the best weights.

    With a folder, every validation is saved there, and an unfinished training of the same kind and data goes on.
    """
    identity, run = identity_of(config, *data), RunFolder(Path(folder)) if folder else None
    trainer = Trainer(task, config.train, run and run.checkpoint, identity=identity)
    if run is None:
        trainer.run(on_step=on_step, on_validation=on_validation)
        return trainer
    trainer.resume()
    run.begin(config, _facts(task, config, data, identity))

    def after(validation: Validation) -> None:
        run.write_curves(trainer.validations)
        on_validation(validation)

    trainer.run(on_step=on_step, on_validation=after)
    return trainer


def _facts(task: Task, config: ModelConfig, data: tuple[Pairs, Pairs], identity: dict[str, str]) -> dict[str, Any]:
    return {
        "seed": config.train.seed,
        "parameters": sum(parameter.numel() for parameter in task.network.parameters()),
        "pairs": {"training": len(data[0]), "validation": len(data[1])},
        "sha256": {"training": identity["training pairs"], "validation": identity["validation pairs"]},
    }
