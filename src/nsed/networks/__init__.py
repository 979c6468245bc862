"""Networks: nn.Modules and their mathematics, from vectors of symbols to arcs, losses and search."""
