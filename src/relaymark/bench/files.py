"""Benchmark files and presets: reading with overrides, and writing back."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.representer import SafeRepresenter

from relaymark.bench._explain import explain
from relaymark.bench._fields import shown
from relaymark.bench._shorthand import parse_load, parse_prompts
from relaymark.bench._source import KeyPath, Source, dotted, parse_scalar, parse_source, parse_value, read_source
from relaymark.bench.agent_live import AgentLive
from relaymark.bench.agent_replay import AgentReplay
from relaymark.bench.model import Benchmark
from relaymark.bench.rag_ask import RagAsk
from relaymark.errors import ConfigError

# Beside this file and not through importlib.resources: uvloop and msgspec keep the package from running out of a
# zip anyway, and that import alone costs 20 ms at start-up.
_PRESETS = Path(__file__).parent / "presets"
_KINDS: dict[str, type[Benchmark]] = {"rag-ask": RagAsk, "agent-replay": AgentReplay, "agent-live": AgentLive}


def load_benchmark(path: Path, overrides: Sequence[str] = (), options: Mapping[str, Any] | None = None) -> Benchmark:
    """Read a benchmark file, then lay ``options`` and ``overrides`` over it.

    Args:
        path: YAML file. A relative ``prompts.file`` in it counts from the file's folder.
        overrides: ``key.path=value`` as given to ``--set``; relative files count from the current folder.
        options: dotted key → value from other command-line options (``{"endpoint.url": …}``), laid on before
            ``overrides``.

    Raises:
        ConfigError: with the key's path and the file and line, or the option, that it came from.
    """
    source = read_source(path)
    _expand(source, source.data, ("prompts",))
    prompts: Any = source.data.get("prompts")
    if isinstance(prompts, dict) and isinstance(name := cast(dict[str, Any], prompts).get("file"), str):
        prompts["file"] = str(path.parent.absolute() / name)
    return _resolve(source, overrides, options, path.parent.absolute())


def load_preset(name: str, overrides: Sequence[str] = (), options: Mapping[str, Any] | None = None) -> Benchmark:
    """Read a packaged benchmark by name (``quick/chat``) as `load_benchmark` reads a file.

    Raises:
        ConfigError: no such preset, or as `load_benchmark`.
    """
    return _resolve(parse_source(preset_text(name), f"preset {name}"), overrides, options)


def preset_text(name: str) -> str:
    """The file of a preset.

    Raises:
        ConfigError: There is no such preset.
    """
    known = list_presets()
    if name not in known:
        close = get_close_matches(name, known, n=1, cutoff=0.5)
        mend = f"did you mean {close[0]}?" if close else f"presets: {', '.join(known)}"
        raise ConfigError(f"there is no preset {name!r}", where=name, mend=mend)
    return (_PRESETS / f"{name}.yaml").read_text(encoding="utf-8")


def kind_of(target: str) -> str | None:
    """What a benchmark file or a preset says that it is; ``None`` where it says nothing or there is none.

    Raises:
        ConfigError: The file cannot be read.
    """
    if target in list_presets():
        source = parse_source(preset_text(target), f"preset {target}")
    elif Path(target).suffix.lower() in (".yaml", ".yml") and Path(target).is_file():
        source = read_source(Path(target))
    else:
        return None
    kind = source.data.get("kind")
    return kind if isinstance(kind, str) else None


def list_presets() -> list[str]:
    """Return the names of the packaged benchmarks, sorted: ``["quick/chat"]``."""
    return sorted(path.relative_to(_PRESETS).with_suffix("").as_posix() for path in _PRESETS.glob("*/**/*.yaml"))


def build_benchmark(options: Mapping[str, Any], overrides: Sequence[str] = ()) -> Benchmark:
    """Build a benchmark from command-line options alone.

    Args:
        options: dotted key → value: ``{"endpoint.url": "http://…", "load": "poisson:4/s", "duration": "60s"}``.
            A ``None`` value is left out. Relative files count from the current folder.
        overrides: ``key.path=value`` as given to ``--set``.

    Raises:
        ConfigError: with the option that is wrong.
    """
    return _resolve(Source(data={}, name="the command line"), overrides, options)


def _resolve(
    source: Source, overrides: Sequence[str], options: Mapping[str, Any] | None, base: Path | None = None
) -> Benchmark:
    for key, value in (options or {}).items():
        if value is not None:
            path = _split(key)
            _set(source, path, value, f"--{str(path[-1]).replace('_', '-')}")
    apply_overrides(source, overrides)
    model = _model(source)
    try:
        benchmark = model.model_validate(source.data)
    except ValidationError as error:
        raise explain(error, source, model) from None
    if isinstance(benchmark, RagAsk | AgentReplay):
        benchmark = benchmark.anchored_to(base or Path.cwd())
    anchored = benchmark.prompts.anchored(Path.cwd())
    return benchmark if anchored is benchmark.prompts else benchmark.model_copy(update={"prompts": anchored})


def _model(source: Source) -> type[Benchmark]:
    """What kind of benchmark the file says it is; requests to one endpoint where it says nothing."""
    kind = source.data.get("kind")
    if kind is None:
        return Benchmark
    if kind == "rag-build":
        raise ConfigError(
            "this builds an index, and is no benchmark of an endpoint",
            where=source.place(("kind",)),
            mend="relaymark run rag-build FILE.yaml",
        )
    if kind not in _KINDS:
        raise ConfigError(
            f"kind must be one of {', '.join(_KINDS)}, got {shown(kind)}",
            where=source.place(("kind",)),
            mend="leave it out for requests to one endpoint",
        )
    return _KINDS[kind]


def apply_overrides(source: Source, overrides: Sequence[str]) -> None:
    """Lay ``key.path=value`` strings over ``source`` in place; values are YAML, list positions are numbers.

    A short form on the way is expanded first, so that ``load.rate=8`` works on ``load: poisson:4/s``.

    Raises:
        ConfigError: not key=value, or a path that leads through a value without keys. Names the option.
    """
    for override in overrides:
        where = f"--set {override}"
        key, equals, text = override.partition("=")
        if not equals or not key.strip():
            raise ConfigError(f"{override!r} is not key=value", where=where, mend="write --set load.rate=8")
        _set(source, _split(key.strip()), parse_value(text.strip(), where), where)


def _split(key: str) -> KeyPath:
    """Return the parts of a dotted key; names of SLOs keep their dot (``slo.ttft_p99.9``)."""
    if key.startswith("slo."):
        return ("slo", key[4:])
    parts = (part.strip() for part in key.split("."))
    return tuple(int(part) if part.isascii() and part.isdigit() and len(part) < 10 else part for part in parts)


def _set(source: Source, path: KeyPath, value: Any, where: str) -> None:
    holder: Any = source.data
    for depth, part in enumerate(path):
        last = depth == len(path) - 1
        if isinstance(holder, dict):
            held = cast(dict[str, Any], holder)
            if last:
                held[str(part)] = value
                break
            _expand(source, held, path[: depth + 1])
            if held.get(str(part)) is None:
                held[str(part)] = [] if part == "stages" else {}
            holder = held[str(part)]
        elif isinstance(holder, list):
            entries = cast(list[Any], holder)
            position = _position(entries, part, dotted(path[:depth]), where)
            if last:
                entries[position] = value
                break
            holder = entries[position]
        else:
            here = dotted(path[:depth])
            raise ConfigError(f"{here} is a single value: {part!r} can't be set in it", where=where, mend=f"set {here}")
    _forget(source, path)
    source.places[path] = where


def _position(holder: list[Any], part: str | int, here: str, where: str) -> int:
    if isinstance(part, int) and part < len(holder):
        return part
    mend = f"use a position from 0 to {len(holder) - 1}" if holder else "the list is empty"
    raise ConfigError(f"{here} has no entry {part!r}", where=where, mend=mend)


def _forget(source: Source, path: KeyPath) -> None:
    """Drop the places of what ``path`` held before: they no longer say where its parts came from."""
    for old in [old for old in source.places if old[: len(path)] == path]:
        del source.places[old]


def _expand(source: Source, holder: dict[str, Any], path: KeyPath) -> None:
    """Replace a short form in ``holder`` by the mapping it stands for, so that its parts can be set."""
    key = str(path[-1])
    value = holder.get(key)
    where = source.place(path)
    if key == "load" and isinstance(value, str):
        holder[key] = parse_load(value, where=where)
    elif key == "prompts" and isinstance(value, str):
        holder[key] = parse_prompts(value, where=where)
    elif key == "slo" and isinstance(value, list):
        bounds = [item for item in cast(list[Any], value) if isinstance(item, str)]
        holder[key] = {name.strip(): bound for name, _, bound in (item.partition("=") for item in bounds)}


class _Representer(SafeRepresenter):
    """Quotes what would read back as something else: text like 1e5, and line breaks that YAML folds (U+0085)."""

    def represent_str(self, data: str) -> Any:
        """Return the node of a text."""
        plain = data.isprintable() and isinstance(parse_scalar(data), str)
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=None if plain else '"')


_Representer.add_representer(str, _Representer.represent_str)


def dump_benchmark(benchmark: Benchmark) -> str:
    """Return the benchmark as YAML with every default written out; reading it gives an equal benchmark.

    Environment variables stay names: no secret is ever resolved into this text.
    """
    data = benchmark.model_dump(mode="json")
    if benchmark.load is None:
        for key in ("load", "duration", "requests"):
            if data[key] is None:
                del data[key]
    else:
        del data["stages"]
    if isinstance(benchmark, RagAsk):
        del data["prompts"]
        return _yaml(data)
    data["prompts"] = {key: value for key, value in data["prompts"].items() if value not in (None, False)}
    return _yaml(data)


def _yaml(data: dict[str, Any]) -> str:
    yaml = YAML(typ="safe", pure=True)
    yaml.Representer = _Representer
    yaml.default_flow_style = False
    yaml.sort_base_mapping_type_on_output = False  # pyright: ignore[reportAttributeAccessIssue]
    yaml.allow_unicode = True
    yaml.width = 110
    out = io.StringIO()
    yaml.dump(data, out)
    return out.getvalue()
