"""Readable twins of the kernels, for any device: what the compiled ones are compared with, and their substitute."""
