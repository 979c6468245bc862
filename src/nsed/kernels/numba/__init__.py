"""The kernels for CPUs, compiled by numba (extra `cpu`). Imported by `dispatch.py` alone, when one is first used."""
