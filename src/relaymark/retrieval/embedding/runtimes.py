"""What runs an ONNX model: ONNX Runtime or OpenVINO behind one call.

A model can be opened with several streams: so many threads may then call it at once, each with its share of the cores.
Matrices of a few hundred rows gain little from a second core within one call and all of it from a second call: 37
passages/s against 29 of MiniLM on two cores.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from relaymark.errors import ConfigError

_NAMES = ("input_ids", "attention_mask", "token_type_ids")


class Runner(Protocol):
    """A model, loaded. ``name`` and ``precision`` say what computes it and in what; ``streams`` how many calls at a
    time it was opened for.
    """

    name: str
    precision: str
    streams: int

    def __call__(self, ids: NDArray[np.int64], mask: NDArray[np.int64]) -> NDArray[np.float32]:
        """The first output for token ids of shape (texts, tokens): (texts, tokens, width) or (texts, width)."""
        ...


def open_runner(model: Path, runtime: str, precision: str, threads: int, streams: int = 1) -> Runner:
    """Loads a model for ``streams`` calls at a time over ``threads`` threads in all (0: as many as there are cores).

    Raises:
        ConfigError: It is missing, can't be read, or wants inputs that are none of a text encoder's.
        ImportError: The runtime's package isn't installed.
    """
    if not model.is_file():
        raise ConfigError("there is no model", where=str(model), mend="put the model's ONNX file there")
    threads = threads or os.cpu_count() or 1
    opener: Callable[[Path, str, int, int], Runner] = OpenVino if runtime == "openvino" else OnnxRuntime
    try:
        return opener(model, precision, threads, max(1, min(streams, threads)))
    except (ImportError, ConfigError):
        raise
    except Exception as error:  # either runtime has its own kinds
        raise ConfigError(f"the model can't be loaded: {str(error)[:300]}", where=str(model)) from None


def _inputs(names: list[str], ids: NDArray[np.int64], mask: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
    every = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
    return {name: every[name] for name in names}


def _checked(names: list[str], model: Path) -> list[str]:
    if unknown := [name for name in names if name not in _NAMES]:
        raise ConfigError(f"the model wants {', '.join(unknown)}, which a text encoder does not", where=str(model))
    return names


class OnnxRuntime:
    """ONNX Runtime on the CPU, in fp32 as the file has it."""

    def __init__(self, model: Path, precision: str, threads: int, streams: int) -> None:
        import onnxruntime as ort  # noqa: PLC0415 - 50 MB that only this class needs

        if precision == "bf16":
            raise ConfigError("ONNX Runtime has no bf16 on CPUs", where="embedder.precision", mend="use openvino")
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads // streams
        options.inter_op_num_threads = 1
        # A thread that spins while it waits takes the core that another stage, or who measures it, is waiting for.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        self._names = _checked([one.name for one in self._session.get_inputs()], model)
        self.name = f"ONNX Runtime {ort.__version__}"
        self.precision = "fp32"
        self.streams = streams

    def __call__(self, ids: NDArray[np.int64], mask: NDArray[np.int64]) -> NDArray[np.float32]:
        """Runs the model."""
        return cast(NDArray[np.float32], self._session.run(None, _inputs(self._names, ids, mask))[0])


class OpenVino:
    """OpenVINO on the CPU, in fp32 or, where the CPU has instructions for it, bf16."""

    def __init__(self, model: Path, precision: str, threads: int, streams: int) -> None:
        import openvino as ov  # noqa: PLC0415 - 100 MB that only this class needs

        core = ov.Core()
        able = "BF16" in cast(list[str], core.get_property("CPU", "OPTIMIZATION_CAPABILITIES"))
        if precision == "bf16" and not able:
            raise ConfigError("this CPU has no bf16", where="embedder.precision", mend="use fp32")
        chosen = "bf16" if precision == "bf16" or (precision == "auto" and able) else "fp32"
        settings: dict[str, Any] = {
            "INFERENCE_PRECISION_HINT": "bf16" if chosen == "bf16" else "f32",
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": streams,
            "PERFORMANCE_HINT": "THROUGHPUT",
        }
        compiled = core.compile_model(str(model), "CPU", settings)
        self._requests: SimpleQueue[Any] = SimpleQueue()
        for _ in range(streams):
            self._requests.put(compiled.create_infer_request())
        self._names = _checked([one.get_any_name() for one in compiled.inputs], model)
        self.name = f"OpenVINO {ov.__version__.partition('-')[0]}"
        self.precision = chosen
        self.streams = streams

    def __call__(self, ids: NDArray[np.int64], mask: NDArray[np.int64]) -> NDArray[np.float32]:
        """Runs the model."""
        request: Any = self._requests.get()
        try:
            results: Any = request.infer(_inputs(self._names, ids, mask), share_inputs=True)
            return np.array(results[0], np.float32)  # a copy: the request's own buffer is written over by the next call
        finally:
            self._requests.put(request)
