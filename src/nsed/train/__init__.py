"""Train: the loop, its optimiser and its folder. It knows tasks, not models."""
