"""Fuzzing: thousands of inputs, most of them damaged, for whatever reads what others wrote.

`python -m fuzz` runs the targets of `targets.py` for long, `tests/test_fuzz.py` shortly. See README.md.
"""
