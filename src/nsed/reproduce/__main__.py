"""One run in a process of its own: `python -m nsed.reproduce JSON`, as `runner.run_jobs` starts it."""

import json
import sys

from nsed.reproduce.grid import Run
from nsed.reproduce.runner import Options, SeededRun, run_job


def main(text: str) -> None:
    """Do what the JSON says."""
    told = json.loads(text)
    job, deadline = SeededRun(Run.named(told.pop("run")), told.pop("seed")), told.pop("deadline")
    run_job(job, Options(**told), deadline=deadline)


if __name__ == "__main__":
    main(sys.argv[1])
