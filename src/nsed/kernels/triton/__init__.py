"""The kernels for GPUs, compiled by Triton. Imported by `dispatch.py` alone, when one is first used."""
