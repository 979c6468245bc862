"""Reference implementations in torch, readable twins of the compiled kernels, for any device, and their substitute."""
