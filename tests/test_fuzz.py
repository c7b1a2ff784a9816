"""The fuzz targets hold on a corpus of every server fault and on random bytes; where atheris is, it has a short go."""

from __future__ import annotations

import importlib.util
import os
import platform
import random
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

FUZZ = Path(__file__).parent.parent / "fuzz"
SEEDS = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    b"HTTP/1.0 200 OK\r\n\r\nuntil the end",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
    b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1f\r\ndata: {"choices":[{"delta":{}}]}\n\r\n'
    b"0\r\nX: y\r\n\r\n",
    b'data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
    b"\x1f\x8b\x08\x00\x00\x00\x00\x00",
)


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"fuzz_{name}", FUZZ / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["framing", "decoding"])
def test_mutated_seeds_never_break_a_target(name: str) -> None:
    target = load(name).target
    draw = random.Random(20261201)
    for _ in range(3000):
        data = bytearray(draw.choice(SEEDS) if draw.random() < 0.9 else draw.randbytes(200))
        for _ in range(draw.randrange(4)):
            at = draw.randrange(len(data) + 1)
            data[at : at + draw.randrange(3)] = draw.choice([b"", b"\r\n", b"0", b"\n\n", draw.randbytes(3)])
        target(draw.randbytes(4 if name == "decoding" else 1) + bytes(data))


@pytest.mark.parametrize("name", ["framing", "decoding"])
def test_atheris_finds_nothing_in_a_few_seconds(name: str, tmp_path: Path) -> None:
    if importlib.util.find_spec("atheris") is None:
        # The dev extra brings it wherever it has wheels, which includes CI's Python.
        wheels = sys.platform == "linux" and platform.machine() == "x86_64" and sys.version_info < (3, 14)
        assert not (os.environ.get("CI") and wheels), "atheris belongs to CI"
        pytest.skip("atheris has no wheel for this platform")
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for number, seed in enumerate(SEEDS):
        (corpus / str(number)).write_bytes(b"\x07\x01\x00\x05" + seed)
    done = subprocess.run(
        [sys.executable, str(FUZZ / f"{name}.py"), "-max_total_time=4", "-max_len=2000", str(corpus)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "Done" in done.stderr
