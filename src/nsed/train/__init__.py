"""Train: the training loop, its optimiser and its run folder. It knows tasks, not models."""
