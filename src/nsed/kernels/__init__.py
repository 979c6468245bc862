"""Kernels: everything compiled, for CPUs (numba) and GPUs (Triton)."""
