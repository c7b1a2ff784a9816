"""Which runtime is fastest for a model on this machine: each is tried in a process of its own, and the winner is kept.

Two runtimes in one process would cost 400 MB that only the trial needs. What came out is remembered in the user's cache
by model, machine and versions.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import msgspec

from relaymark.retrieval.specs import EmbedderSpec, Precision, Runtime

_RUNTIMES: tuple[Runtime, ...] = ("onnxruntime", "openvino")
_TEXT = "A river runs through the old town, past the mill, and joins the sea near the harbour. " * 8
_TEXTS = 12  # a stream
_SECONDS = 120.0


def fastest(spec: EmbedderSpec, model: Path) -> tuple[Runtime, Precision]:
    """The runtime that embeds a few texts soonest, and the precision it does so in.

    Raises:
        ImportError: No runtime is installed, or none can run the model.
    """
    remembered = _cache() / f"{_key(spec, model)}.json"
    try:
        runtime, precision = json.loads(remembered.read_text())
        return runtime, precision
    except (OSError, ValueError):
        pass
    times: list[tuple[float, Runtime, Precision]] = []
    for runtime in _RUNTIMES:
        seconds = _try(msgspec.structs.replace(spec, runtime=runtime, precision=_precision(spec, runtime)))
        if seconds is not None:
            times.append((seconds, runtime, _precision(spec, runtime)))
    if not times:
        raise ImportError("onnxruntime", name="onnxruntime")
    _, runtime, precision = min(times)
    try:
        remembered.parent.mkdir(parents=True, exist_ok=True)
        remembered.write_text(json.dumps([runtime, precision]))
    except OSError:
        pass  # a home that can't be written costs a trial each time
    return runtime, precision


def _precision(spec: EmbedderSpec, runtime: Runtime) -> Precision:
    """ONNX Runtime computes in fp32 on CPUs; OpenVINO chooses bf16 by itself where the CPU has it."""
    return "fp32" if runtime == "onnxruntime" and spec.precision == "auto" else spec.precision


def _try(spec: EmbedderSpec) -> float | None:
    command = [sys.executable, "-m", "relaymark.retrieval.embedding.trial"]
    try:
        done = subprocess.run(
            command, input=msgspec.json.encode(spec), capture_output=True, timeout=_SECONDS, check=False
        )
        return float(done.stdout) if done.returncode == 0 else None
    except (subprocess.TimeoutExpired, ValueError):
        return None


def _key(spec: EmbedderSpec, model: Path) -> str:
    status = model.stat()
    parts = [str(model.resolve()), status.st_size, status.st_mtime_ns, spec.precision, spec.threads, spec.streams]
    parts += [spec.batch_tokens, spec.max_length]
    parts += [platform.machine(), platform.processor(), os.cpu_count(), _cpu(), *map(_version, _RUNTIMES)]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return ""
    return next((line for line in lines if line.startswith(("model name", "CPU part"))), "")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "relaymark" / "runtimes"


def main() -> int:
    """Embeds a few texts with the runtime that standard input names; prints the seconds it took."""
    from relaymark.retrieval.embedding.onnx import OnnxEmbedder  # noqa: PLC0415 - it opens trials itself

    spec = msgspec.json.decode(sys.stdin.buffer.read(), type=EmbedderSpec)
    embedder = OnnxEmbedder(spec)
    texts = [_TEXT] * (_TEXTS * spec.streams)
    embedder.embed_passages(texts)  # the first call of a shape compiles it
    times: list[float] = []
    for _ in range(3):
        begin = time.perf_counter()
        embedder.embed_passages(texts)
        times.append(time.perf_counter() - begin)
    sys.stdout.write(f"{min(times):.6f}\n")  # what others took of the machine meanwhile is no property of a runtime
    return 0


if __name__ == "__main__":
    sys.exit(main())
