"""A real llama.cpp server on loopback, from the xllamacpp wheel, in a process of its own: :func:`start_llama`."""

from __future__ import annotations

import http.client
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Self

from relaymark.emulate.pacedconfig import encode_config
from relaymark.emulate.process import ServerError, ServerProcess
from relaymark.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class LlamaConfig:
    """How to serve one GGUF model.

    ``ctx`` is the context length of each slot in tokens. More than one thread rarely helps a small model and takes the
    core that the client needs.
    """

    model_path: Path
    alias: str = ""  # the model's name in the API; empty: the file's name without its ending
    slots: int = 4
    threads: int = 1
    ctx: int = 2048
    prompt_cache: bool = True  # reuse a slot's common prefix, as llama.cpp does by default
    port: int = 0
    log_path: Path | None = None  # llama.cpp's own messages; None: discarded
    start_timeout: float = 120.0  # seconds to load the weights

    def __post_init__(self) -> None:
        for name, least in (("slots", 1), ("threads", 1), ("ctx", 64)):
            if getattr(self, name) < least:
                raise ConfigError(f"must be at least {least}", where=f"llama: {name}")
        if not 0 <= self.port <= 65_535:
            raise ConfigError("must be between 0 (a free one) and 65535", where="llama: port")

    @property
    def model(self) -> str:
        """The model's name in the API."""
        return self.alias or self.model_path.stem


class LlamaServer:
    """A running llama.cpp server. Use it as a context manager, or call :meth:`stop`."""

    def __init__(self, config: LlamaConfig) -> None:
        _check(config)
        self.config = config
        self.model = config.model
        self._process = ServerProcess(
            "relaymark.emulate.llamachild",
            encode_config(config),
            log_path=config.log_path,
            name="llama.cpp server",
            start_timeout=config.start_timeout,
        )
        self.port: int = self._process.ready["port"]
        self.url = f"http://127.0.0.1:{self.port}"
        try:
            self._await_health()
        except BaseException:
            self.stop()
            raise

    def _await_health(self) -> None:
        deadline = time.monotonic() + self.config.start_timeout
        while time.monotonic() < deadline:
            if not self._process.alive:
                raise ServerError(
                    f"the llama.cpp server died while it loaded the model{self._process.log_tail()}",
                    where=str(self.config.model_path),
                )
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
            try:
                connection.request("GET", "/health")
                if connection.getresponse().status == 200:
                    return
            except (OSError, http.client.HTTPException):
                pass
            finally:
                connection.close()
            time.sleep(0.05)
        raise ServerError(
            f"the llama.cpp server was not healthy after {self.config.start_timeout:g} s{self._process.log_tail()}",
            where=str(self.config.model_path),
        )

    @property
    def pid(self) -> int:
        """Process id of the server."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """True while the server runs."""
        return self._process.alive

    def stop(self) -> None:
        """Stop the server. May be called twice."""
        self._process.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _check(config: LlamaConfig) -> None:
    if find_spec("xllamacpp") is None:
        raise ConfigError("a local llama.cpp server needs the package xllamacpp", mend="pip install 'relaymark[local]'")
    # A bad path or file would be reported too, but by C++ code that takes its process down.
    try:
        with config.model_path.open("rb") as model:
            magic = model.read(4)
    except OSError as problem:
        raise ConfigError(f"the model cannot be read: {problem.strerror}", where=str(config.model_path)) from problem
    if magic != b"GGUF":
        raise ConfigError("this is not a GGUF file", where=str(config.model_path))


def start_llama(config: LlamaConfig) -> LlamaServer:
    """Start llama.cpp's HTTP server on loopback and wait until it is healthy.

    Raises:
        ConfigError: xllamacpp is missing, the model is not a readable GGUF file, or the port is taken.
        ServerError: It died (the error shows the end of its log) or was not ready in ``start_timeout``.
    """
    return LlamaServer(config)
