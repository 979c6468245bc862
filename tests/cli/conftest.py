"""Pairs of the rule language, and one model of each kind: folders of `golden`, so that no command waits for a training.

No test writes into them; a test of `nsed train` trains a model of its own.
"""

import shutil

import pytest

from golden.answers import FOLDERS
from support.commands import run


@pytest.fixture(scope="session")
def pairs(tmp_path_factory):
    path = tmp_path_factory.mktemp("pairs") / "rules.tsv"
    run("data", "rules", "--count", 300, "--seed", 5, "--output", path)
    return path


@pytest.fixture(scope="session")
def labelled(tmp_path_factory):
    path = tmp_path_factory.mktemp("labelled") / "labelled.tsv"
    run("data", "rules", "--matching", "--count", 200, "--seed", 5, "--output", path)
    return path


@pytest.fixture(scope="session")
def copied(tmp_path_factory):
    """A function that copies a folder of `golden`: nothing that a test does can change what version 0.1 saved."""
    folder = tmp_path_factory.mktemp("models")
    return lambda name: shutil.copytree(FOLDERS / name, folder / name, dirs_exist_ok=True)


@pytest.fixture(scope="session")
def model(copied):
    return copied("edit-distance")


@pytest.fixture(scope="session")
def transducer(copied):
    return copied("transducer-exact")


@pytest.fixture(scope="session")
def matcher(copied):
    return copied("matcher-rnn")
