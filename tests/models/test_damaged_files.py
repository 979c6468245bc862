"""Damaged files, by the thousand: an answer or an error that says what is wrong, in a process that does not crash."""

import os
import subprocess
import sys

import pytest

from support import damage


@pytest.mark.slow
@pytest.mark.parametrize("what", ["tables", "models"])
def test_a_thousand_damaged_files_neither_crash_nor_raise_anything_else_nor_take_a_gigabyte(what):
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, damage.__file__, what, "1000"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    assert f"1000 damaged {what}: " in done.stdout
