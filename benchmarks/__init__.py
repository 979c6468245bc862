"""Speed and memory, measured as ratios inside one run wherever that is possible: `nsed bench`."""
