"""Data sets by name: where they are looked for, what a download must withstand, the paper's conventions."""

from __future__ import annotations

import bz2
import hashlib
import os
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from urllib.error import HTTPError
from urllib.request import Request

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file
from sklearn.preprocessing import MinMaxScaler

from sparsebayes.io import catalogue, datasets
from sparsebayes.io.datasets import DatasetError, DatasetInfo
from sparsebayes.io.download import _Redirects

NAME, PACKED = "tiny", "tiny.packed"
SHAPE = (200, 7, 3)
LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"


def svmlight(n_rows=200, n_features=7, n_classes=3):
    rng = np.random.default_rng(0)
    lines = []
    for row in range(n_rows):
        entries = [f"{j + 1}:{value:.6g}" for j, value in enumerate(rng.standard_normal(n_features))]
        lines.append(" ".join([str(row % n_classes + 1), *entries]))
    return ("\n".join(lines) + "\n").encode()


TEXT = svmlight()


class Server:
    """Answers with what a test has put under a path: bytes, or a function of the request's handler."""

    def __init__(self):
        self.answers, self.requests = {}, []
        served = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                served.requests.append(self.path)
                answer = served.answers.get(self.path)
                if answer is None:
                    self.send_error(404)
                elif callable(answer):
                    with suppress(ConnectionError):  # a client that has had enough
                        answer(self)
                else:
                    send(self, answer)

            def log_message(self, *arguments):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = False  # closing waits for them
        self.url = f"http://127.0.0.1:{self.http.server_port}/data"
        # Stopping waits for the next poll.
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def close(self):
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()


def send(handler, body, length=None, status=200, **headers):
    handler.send_response(status)
    handler.send_header("Content-Length", str(len(body) if length is None else length))
    for key, value in headers.items():
        handler.send_header(key, value)
    handler.end_headers()
    handler.wfile.write(body)


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    running = Server()
    running.answers = {f"/data/{NAME}": TEXT, f"/data/{PACKED}.bz2": bz2.compress(TEXT)}
    yield running
    running.close()


@pytest.fixture
def cache(monkeypatch, tmp_path):
    """An empty cache, no data folder, and two sets of ours in the catalogue."""
    monkeypatch.delenv("SPARSEBAYES_DATA", raising=False)
    monkeypatch.setenv("SPARSEBAYES_CACHE", str(tmp_path / "cache"))
    monkeypatch.setitem(catalogue.CATALOGUE, NAME, DatasetInfo(NAME, *SHAPE, NAME))
    monkeypatch.setitem(catalogue.CATALOGUE, PACKED, DatasetInfo(PACKED, *SHAPE, f"{PACKED}.bz2"))
    return tmp_path / "cache"


def fetch(server, name=NAME, **options):
    return datasets.fetch(name, base_url=server.url, **({"timeout": 5.0, "backoff": 0.001} | options))


def refused(server, match, name=NAME, **options):
    with pytest.raises(DatasetError, match=match) as caught:
        fetch(server, name, **options)
    return str(caught.value)


def files(folder):
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


class TestDownload:
    @pytest.mark.parametrize("name", [NAME, PACKED])
    def test_good(self, server, cache, name):
        seen = []
        path = fetch(server, name, progress=lambda *progress: seen.append(progress))
        body = server.answers[f"/data/{path.name}"]
        assert path == cache / datasets.describe(name).file
        assert path.read_bytes() == body
        assert (cache / f"{path.name}.sha256").read_text() == (
            f"{hashlib.sha256(body).hexdigest()}  {path.name}\n"
        )
        assert files(cache) == [path.name, f"{path.name}.sha256"]
        assert seen[-1] == (len(body), len(body))
        data = datasets.load(name, download=False)
        X, y = load_svmlight_file(str(path))
        assert (data.X != X).nnz == 0
        assert data.y.dtype == np.int64
        np.testing.assert_array_equal(data.y, y)

    def test_cached_file_is_used_without_a_request(self, server, cache):
        fetch(server)
        fetch(server)
        assert len(server.requests) == 1

    def test_length_may_be_unknown(self, server, cache):
        def chunked(handler):
            handler.protocol_version = "HTTP/1.1"
            handler.send_response(200)
            handler.send_header("Transfer-Encoding", "chunked")
            handler.send_header("Connection", "close")
            handler.end_headers()
            for start in range(0, len(TEXT), 5000):
                piece = TEXT[start : start + 5000]
                handler.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            handler.wfile.write(b"0\r\n\r\n")

        server.answers[f"/data/{NAME}"] = chunked
        seen = []
        path = fetch(server, progress=lambda *progress: seen.append(progress))
        assert path.read_bytes() == TEXT
        assert seen[-1] == (len(TEXT), None)

    def test_drip_is_too_slow(self, server, cache):
        """Each byte is in time for the socket."""

        def drip(handler):
            send(handler, b"", length=len(TEXT))
            for k in range(200):
                handler.wfile.write(TEXT[k : k + 1])
                time.sleep(0.02)

        server.answers[f"/data/{NAME}"] = drip
        start = time.monotonic()
        refused(server, "too slow", timeout=0.2, retries=0)
        assert time.monotonic() - start < 2
        assert files(cache) == []

    @pytest.mark.parametrize("headers_first", [True, False])
    def test_silence_times_out(self, server, cache, headers_first):
        done = threading.Event()

        def silent(handler):
            if headers_first:
                send(handler, TEXT[:100], length=len(TEXT))
            done.wait(5)

        server.answers[f"/data/{NAME}"] = silent
        try:
            refused(server, "timed out", timeout=0.2, retries=1)
        finally:
            done.set()
        assert len(server.requests) == 2
        assert files(cache) == []

    def test_cut_off(self, server, cache):
        server.answers[f"/data/{NAME}"] = lambda handler: send(handler, TEXT[:1000], length=len(TEXT))
        text = refused(server, f"cut off after 1000 of {len(TEXT)} bytes")
        assert len(server.requests) == 3
        assert f"{server.url}/{NAME}" in text
        assert "SPARSEBAYES_DATA" in text
        assert str(cache) in text
        assert files(cache) == []

    def test_cut_off_once(self, server, cache):
        def once(handler):
            server.answers[f"/data/{NAME}"] = TEXT
            send(handler, TEXT[:1000], length=len(TEXT))

        server.answers[f"/data/{NAME}"] = once
        assert fetch(server).read_bytes() == TEXT

    @pytest.mark.parametrize("right", [True, False])
    def test_known_checksum(self, server, cache, monkeypatch, right):
        digest = hashlib.sha256(TEXT if right else b"another").hexdigest()
        known = replace(datasets.describe(NAME), sha256=digest)
        monkeypatch.setitem(catalogue.CATALOGUE, NAME, known)
        if right:
            assert fetch(server).read_bytes() == TEXT
            (cache / f"{NAME}.sha256").unlink()
            (cache / NAME).write_bytes(TEXT + b"\n")
            refused(server, "damaged")
        else:
            refused(server, "SHA-256")
            assert len(server.requests) == 1  # nothing that another attempt would mend
            assert files(cache) == []

    def test_absent(self, server, cache):
        del server.answers[f"/data/{NAME}"]
        refused(server, "404 Not Found")
        assert len(server.requests) == 1
        assert files(cache) == []

    def test_busy_then_good(self, server, cache):
        def busy(handler):
            if len(server.requests) == 2:
                server.answers[f"/data/{NAME}"] = TEXT
            handler.send_error(503)

        server.answers[f"/data/{NAME}"] = busy
        assert fetch(server).read_bytes() == TEXT
        assert len(server.requests) == 3

    def test_busy_for_good(self, server, cache):
        server.answers[f"/data/{NAME}"] = lambda handler: handler.send_error(503)
        refused(server, "503", retries=1)
        assert len(server.requests) == 2

    def test_nobody_listens(self, server, cache):
        with pytest.raises(DatasetError, match="no connection"):
            datasets.fetch(NAME, base_url="http://127.0.0.1:9", retries=1, backoff=0.001)

    @pytest.mark.parametrize(
        ("name", "body", "match"),
        [
            (PACKED, bz2.compress(TEXT)[:-20], "ended before the end-of-stream"),
            (PACKED, TEXT, "Invalid data stream"),
            (PACKED, bz2.compress(b"1\n" * 10**6), "more than 200 rows"),
            (NAME, b"<!DOCTYPE html><html><body>Moved</body></html>\n", "tiny:1: the label is not a"),
            (NAME, b"", "it is not the data set"),
            (NAME, b"\n" * 1000, "it is not the data set"),
            (NAME, bytes(range(256)), "it is not the data set"),
            (NAME, TEXT[: TEXT.rindex(b"\n", 0, -1)], "199 rows of 3 classes instead of 200 of 3"),
            (NAME, TEXT + b"1 1:1\n", "more than 200 rows"),
            (NAME, svmlight(n_features=8), "8 features instead of 7"),
            (NAME, svmlight(n_classes=4), "200 rows of 4 classes"),
            (NAME, TEXT.replace(b" 1:", b" 0:", 1), "tiny:1: the index is below 1"),
            (NAME, TEXT.replace(b" 1:", b" 99999999999999999999:", 1), "it is not the data set"),
            (NAME, TEXT.replace(b"7:", b"7:nan 8:", 1).replace(b" 8:", b" # "), "the value is not a decimal"),
        ],
    )
    def test_wrong_content(self, server, cache, name, body, match):
        server.answers[f"/data/{datasets.describe(name).file}"] = body
        refused(server, match, name)
        assert len(server.requests) == 1
        assert files(cache) == []

    def test_lines_across_blocks(self, server, cache, monkeypatch):
        monkeypatch.setattr("sparsebayes.io.text.PART_BYTES", 50)
        assert fetch(server).read_bytes() == TEXT

    def test_endless_line(self, server, cache, monkeypatch):
        monkeypatch.setattr("sparsebayes.io.text.PART_BYTES", 20)
        for module in ("text", "svmlight"):
            monkeypatch.setattr(f"sparsebayes.io.{module}.MAX_LINE", 30)
        refused(server, "longer than 30 bytes")

    @pytest.mark.parametrize("said", [True, False])
    def test_too_large(self, server, cache, said):
        def unsaid(handler):
            handler.send_response(200)
            handler.end_headers()
            handler.wfile.write(TEXT)

        server.answers[f"/data/{NAME}"] = TEXT if said else unsaid
        refused(server, "max_bytes", max_bytes=len(TEXT) - 1)
        assert len(server.requests) == 1
        assert files(cache) == []

    @pytest.mark.parametrize("target", ["ftp://127.0.0.1/x", "file:///etc/hostname", "data:text/plain,1"])
    def test_redirects_elsewhere_are_refused(self, server, cache, target):
        server.answers[f"/data/{NAME}"] = lambda handler: send(handler, b"", status=302, Location=target)
        refused(server, "(?i)redirect")
        assert len(server.requests) == 1
        assert files(cache) == []

    def test_redirects_over_http_are_followed(self, server, cache):
        server.answers["/there"] = TEXT
        server.answers[f"/data/{NAME}"] = lambda handler: send(handler, b"", status=302, Location="/there")
        assert fetch(server).read_bytes() == TEXT

    def test_https_is_not_left(self):
        """Asked of the handler itself: a server with a certificate is not at hand."""
        request = Request("https://127.0.0.1/x")
        redirects = _Redirects()
        assert redirects.redirect_request(request, BytesIO(), 302, "Found", {}, "https://127.0.0.1/y")
        with pytest.raises(HTTPError, match="refused") as caught:
            redirects.redirect_request(request, BytesIO(), 302, "Found", {}, "http://127.0.0.1/y")
        caught.value.close()

    def test_other_schemes_are_refused(self, cache, tmp_path):
        (tmp_path / NAME).write_bytes(TEXT)
        with pytest.raises(DatasetError, match="only http and https"):
            datasets.fetch(NAME, base_url=tmp_path.as_uri())

    def test_interrupt_leaves_nothing(self, server, cache):
        def interrupt(done, total):
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            fetch(server, progress=interrupt)
        assert files(cache) == []

    @pytest.mark.skipif(sys.platform == "win32", reason="Windows limits no file sizes")
    def test_disk_that_takes_no_more_leaves_nothing(self, server, cache):
        with largest_file(4096):
            text = refused(server, "Storing 'tiny'")
        assert "SPARSEBAYES_CACHE" in text
        assert files(cache) == []
        assert len(server.requests) == 1

    def test_folder_that_cannot_be_made(self, server, cache):
        cache.write_text("a file where the folder should be")
        refused(server, "SPARSEBAYES_CACHE")
        assert server.requests == []

    @pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
    def test_folder_without_permission(self, server, cache):
        cache.mkdir(mode=0o500)
        refused(server, "Permission denied")

    def test_two_processes_at_once(self, server, cache):
        """Both get the file, and it is whole; neither may begin before both have asked."""
        both = threading.Barrier(2)

        def together(handler):
            both.wait(30)
            send(handler, TEXT)

        server.answers[f"/data/{NAME}"] = together
        code = (
            "from sparsebayes.io import catalogue, datasets\n"
            f"catalogue.CATALOGUE[{NAME!r}] = datasets.DatasetInfo({NAME!r}, *{SHAPE}, {NAME!r})\n"
            f"datasets.fetch({NAME!r}, base_url={server.url!r}, timeout=30.0)"
        )
        workers = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(2)]
        assert [worker.wait(60) for worker in workers] == [0, 0]
        assert files(cache) == [NAME, f"{NAME}.sha256"]
        assert datasets.fetch(NAME, download=False).read_bytes() == TEXT


@contextmanager
def largest_file(n_bytes):
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


class TestFinding:
    def test_data_folder_comes_first(self, server, cache, monkeypatch, tmp_path):
        cached = fetch(server)
        assert datasets.find(NAME) == cached
        monkeypatch.setenv("SPARSEBAYES_DATA", str(tmp_path))
        assert datasets.find(NAME) == cached
        (tmp_path / NAME).write_bytes(TEXT)
        assert datasets.find(NAME) == tmp_path / NAME
        (tmp_path / f"{NAME}.svm.bz2").write_bytes(bz2.compress(TEXT))
        assert datasets.find(NAME) == tmp_path / f"{NAME}.svm.bz2"
        assert datasets.load(NAME, download=False).X.shape == SHAPE[:2]

    def test_nothing_is_downloaded_unasked(self, server, cache):
        with pytest.raises(DatasetError, match="SPARSEBAYES_DATA") as caught:
            fetch(server, download=False)
        assert str(cache) in str(caught.value)
        assert server.requests == []

    def test_without_address(self, server, cache):
        refused(server, "LIBSVM's page does not have it", "url_sample")
        assert server.requests == []

    @pytest.mark.parametrize("where", ["digest", "file"])
    def test_damaged_cache_is_found(self, server, cache, where):
        path = fetch(server)
        damaged = path if where == "file" else cache / f"{NAME}.sha256"
        content = bytearray(damaged.read_bytes())
        content[10] ^= 1
        damaged.write_bytes(content)
        refused(server, "damaged")
        with pytest.raises(DatasetError, match=f"{NAME} is damaged"):
            datasets.load(NAME)

    def test_damaged_file_without_digest(self, cache):
        cache.mkdir()
        (cache / f"{NAME}.svm.bz2").write_bytes(bz2.compress(TEXT)[:-20])
        with pytest.raises(DatasetError, match=r"tiny\.svm\.bz2 cannot be read"):
            datasets.load(NAME)

    def test_other_data_under_the_name(self, cache):
        cache.mkdir()
        (cache / NAME).write_bytes(svmlight(n_rows=100))
        with pytest.raises(DatasetError, match="100 rows of 3 classes instead of 200 of 3"):
            datasets.load(NAME)

    def test_unknown_name(self):
        with pytest.raises(ValueError, match=r"no data set 'irs'\. Did you mean 'iris'"):
            datasets.describe("irs")

    def test_cache_folder(self, monkeypatch, tmp_path):
        monkeypatch.setenv("SPARSEBAYES_CACHE", "")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        assert datasets.cache_folder() == tmp_path / "sparsebayes"
        monkeypatch.setenv("XDG_CACHE_HOME", "relative")
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        if sys.platform == "linux":
            assert datasets.cache_folder() == tmp_path / "home" / ".cache" / "sparsebayes"

    def test_no_home(self, monkeypatch):
        def no_home():
            raise RuntimeError

        for variable in ("SPARSEBAYES_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA", "SPARSEBAYES_DATA"):
            monkeypatch.delenv(variable, raising=False)
        monkeypatch.setattr("pathlib.Path.home", no_home)
        assert datasets.find("a1a") is None
        with pytest.raises(DatasetError, match="SPARSEBAYES_CACHE"):
            datasets.fetch("a1a")

    def test_not_imported_with_the_package(self):
        code = "import sys, sparsebayes, sparsebayes.io; print('sparsebayes.io.datasets' in sys.modules)"
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert result.stdout.strip() == "False"


class TestReading:
    def test_features_that_never_occur_are_counted(self, cache, monkeypatch):
        monkeypatch.setitem(catalogue.CATALOGUE, NAME, replace(datasets.describe(NAME), n_features=9))
        cache.mkdir()
        (cache / NAME).write_bytes(TEXT)
        assert datasets.load(NAME).X.shape == (200, 9)

    def test_rebuilt_file_is_read_and_named(self, server, cache, monkeypatch):
        known = replace(datasets.describe(NAME), n_features=9, n_rebuilt=7)
        monkeypatch.setitem(catalogue.CATALOGUE, NAME, known)
        refused(server, "not the original")
        (cache / NAME).write_bytes(TEXT)
        data = datasets.load(NAME)
        assert data.X.shape == (200, 7)
        assert data.info.n_features == 7
        assert data.info.url is None
        assert "Rebuilt" in data.info.note

    def test_part_of_a_set(self, cache, monkeypatch):
        part = DatasetInfo("part", 134, 7, 2, part_of=NAME, labels=(1, 2))
        monkeypatch.setitem(catalogue.CATALOGUE, "part", part)
        cache.mkdir()
        (cache / NAME).write_bytes(TEXT)
        data = datasets.load("part")
        assert data.X.shape == (134, 7)
        assert set(data.y) == {1, 2}

    def test_labels_that_are_no_integers_stay(self, cache, monkeypatch):
        cache.mkdir()
        (cache / NAME).write_bytes(b"".join(b"0.5" + line[1:] + b"\n" for line in TEXT.splitlines()))
        monkeypatch.setitem(catalogue.CATALOGUE, NAME, replace(datasets.describe(NAME), n_classes=1))
        assert set(datasets.load(NAME).y) == {0.5}

    def test_float32(self, cache):
        cache.mkdir()
        (cache / NAME).write_bytes(TEXT)
        assert datasets.load(NAME, dtype=np.float32).X.dtype == np.float32


class TestScaling:
    @pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix, sp.csc_array])
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_against_scikit_learn(self, rng, container, dtype):
        X, Z = (rng.standard_normal((n, 5)).astype(dtype) * (rng.random((n, 5)) < 0.6) for n in (30, 20))
        train, test = datasets.scaled(container(X), container(Z))
        scaler = MinMaxScaler((-1, 1)).fit(X)
        tolerance = 50 * np.finfo(dtype).eps
        for ours, theirs in ((train, scaler.transform(X)), (test, scaler.transform(Z))):
            assert ours.dtype == dtype
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance)
        assert (train.min(axis=0) == -1).all()
        assert (train.max(axis=0) == 1).all()

    def test_constant_features_are_zero(self):
        train, test = datasets.scaled([[3.0, 1.0], [3.0, 2.0]], [[9.0, 4.0]])
        np.testing.assert_array_equal(train, [[0, -1], [0, 1]])
        np.testing.assert_array_equal(test, [[0, 5]])

    def test_input_is_left_alone(self, rng):
        X = rng.standard_normal((6, 2))
        before = X.copy()
        datasets.scaled(X, X)
        np.testing.assert_array_equal(X, before)

    @pytest.mark.parametrize(
        ("parts", "match"),
        [
            (([[1.0]], [[1.0, 2.0]]), "same features"),
            (([[np.nan]],), "not finite"),
            (([[1e308], [-1e308]],), "too large"),
            (([1.0],), "Two dimensions"),
            ((sp.csr_matrix((10**5, 10**5)),), "used as they are"),
        ],
    )
    def test_refusals(self, parts, match):
        with pytest.raises(ValueError, match=match):
            datasets.scaled(*parts)

    def test_as_in_the_paper(self, cache, monkeypatch):
        cache.mkdir()
        (cache / NAME).write_bytes(TEXT)
        with pytest.raises(ValueError, match="not a data set of the paper"):
            datasets.load_paper(NAME)
        known = datasets.describe(NAME)
        raw = datasets.load(NAME)
        monkeypatch.setitem(catalogue.CATALOGUE, NAME, replace(known, paper_name="Tiny"))
        np.testing.assert_array_equal(datasets.load_paper(NAME).X, datasets.scaled_whole(raw.X))
        monkeypatch.setitem(catalogue.CATALOGUE, NAME, replace(known, paper_name="news20"))
        assert sp.issparse(datasets.load_paper(NAME).X)


class TestCatalogue:
    def test_addresses_and_notes(self):
        for name in datasets.names():
            info = datasets.describe(name)
            assert info.name == name
            if info.address is None:
                assert info.note, name  # why LIBSVM has none
            else:
                assert info.url.startswith("https://")
                assert info.address.split("/")[0] in ("binary", "multiclass")

    def test_sets_of_the_paper(self):
        found = {datasets.describe(name).paper_name for name in datasets.names()} - {None}
        assert len(found) == 17
        assert not datasets.describe("real-sim").scaled_in_paper
        assert datasets.describe("wine").scaled_in_paper

    @pytest.mark.usefixtures("data_set")
    def test_files_are_what_the_catalogue_says(self):
        """Small ones alone but for the long profile."""
        checked = 0
        for name in datasets.names():
            path = datasets.find(name)
            if path is None or (path.stat().st_size > 130_000 and not LONG):
                continue
            data = datasets.load(name, download=False)
            assert data.X.shape == (data.info.n_rows, data.info.n_features)
            assert data.X.dtype == np.float64
            assert data.y.dtype == np.int64
            assert len(np.unique(data.y)) == data.info.n_classes
            if data.info.part_of is None:
                X, y = load_svmlight_file(str(path), n_features=data.info.n_features)
                for part in ("data", "indices", "indptr"):
                    np.testing.assert_array_equal(getattr(data.X, part), getattr(X, part))
                np.testing.assert_array_equal(data.y, y)
            last = data.X.indices.max() + 1
            assert last == data.info.n_features or name in ("a1a", "a2a")
            checked += 1
        assert checked >= 15

    @pytest.mark.usefixtures("data_set")
    @pytest.mark.parametrize(
        ("raw", "scale"),
        [
            ("breast-cancer", "breast-cancer_scale"),
            ("diabetes", "diabetes_scale"),
            ("german.numer", "german.numer_scale"),
            ("iris", "iris.scale"),
            ("wine", "wine.scale"),
            ("segment", "segment.scale"),  # with a constant feature
        ],
    )
    def test_scaling_is_that_of_libsvms_files(self, raw, scale):
        """To the six digits that they have."""
        ours = datasets.load_paper(raw, download=False)
        theirs = datasets.load(scale, download=False)
        columns, expected = ours.X, theirs.X.toarray()
        if raw == "segment":  # the rows are in another order
            columns, expected = np.sort(columns, axis=0), np.sort(expected, axis=0)
        np.testing.assert_allclose(columns, expected, rtol=0, atol=1e-6)
