"""Speed, measured as ratios inside one run: `python -m benchmarks.lattice`."""
