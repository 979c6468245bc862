"""The paper's tables again: the grid of their cells, runs, records of runs, and tables made of records."""
