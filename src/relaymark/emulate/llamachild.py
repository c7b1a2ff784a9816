"""Main module of the llama.cpp server's process: ``python -m relaymark.emulate.llamachild``, started by start_llama."""

from __future__ import annotations

import os
import signal
import sys
import threading
from importlib import import_module
from typing import TYPE_CHECKING, Any

import msgspec

from relaymark.emulate.child import read_config_line, say_ready, watch_parent
from relaymark.emulate.llamacpp import LlamaConfig
from relaymark.emulate.pacedconfig import decode_config
from relaymark.errors import RelaymarkError

if TYPE_CHECKING:
    from collections.abc import Callable

_WARNINGS = 2  # llama.cpp's verbosity; 3 would add several lines a request


def params_of(config: LlamaConfig, common_params: Callable[[], Any]) -> Any:
    """xllamacpp's CommonParams for a configuration."""
    params = common_params()
    params.model.path = str(config.model_path)
    params.model_alias = {config.model}
    params.hostnames = ["127.0.0.1"]
    params.port = config.port
    params.n_parallel = config.slots
    params.n_ctx = config.ctx * config.slots
    params.cpuparams.n_threads = config.threads
    params.cpuparams_batch.n_threads = config.threads
    # Each open connection holds one of these threads: requests must wait in the model's queue, not for a thread.
    params.n_threads_http = max(64, 4 * config.slots)
    params.n_gpu_layers = 0
    params.cache_prompt = config.prompt_cache
    params.cache_ram_mib = 0  # no second prompt cache in main memory: 8 GiB by default
    params.cache_idle_slots = False
    params.cors_origins = "http://127.0.0.1"  # by default any web page could use the server
    params.fit_params = False
    params.ui = False
    params.verbosity = _WARNINGS
    return params


def main() -> int:
    """Read the configuration from stdin, serve until the parent goes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # llama.cpp prints where it likes. The handshake keeps the real stdout to itself, the rest goes to the log.
    handshake = os.dup(1)
    os.dup2(2, 1)
    try:
        config = decode_config(read_config_line(), LlamaConfig)
    except (msgspec.MsgspecError, RelaymarkError) as problem:
        say_ready({"error": str(problem)}, handshake)
        return 2
    # Loading can take a minute; a parent that is killed meanwhile must not leave us behind.
    watch_parent(lambda: os._exit(0))
    # Imported only now: the handshake's descriptors must be in place before it prints.
    xllamacpp = import_module("xllamacpp")
    try:
        server = xllamacpp.Server(params_of(config, xllamacpp.CommonParams))
    except Exception as problem:
        say_ready({"error": str(problem) or type(problem).__name__, "where": str(config.model_path)}, handshake)
        return 2
    say_ready({"port": int(server.listening_address.rpartition(":")[2])}, handshake)
    threading.Event().wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
