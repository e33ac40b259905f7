"""Reading configuration: presets by name, TOML files, and single settings of the command line.

Layers go over each other in the order in which they are given; a later one replaces single keys.
Every error is one line that names where the value came from, the key, the value and what is allowed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from ..errors import RecnmpError
from .dram import nearest
from .section import NONE
from .system import NEAR_MEMORY, Dram, EnergyTable, Host, Memory, PlacementRules, Refresh, Run, SystemConfig
from .toml import clipped, toml_values
from .traffic import Traffic
from .units import Nmp

SECTIONS: dict[str, type[BaseModel]] = {
    "dram": Dram,
    "memory": Memory,
    "placement": PlacementRules,
    "host": Host,
    "refresh": Refresh,
    "nmp": Nmp,
    "traffic": Traffic,
    "energy": EnergyTable,
    "run": Run,
}
_NOT_SYSTEMS = {"ddr4"}  # presets of timings and organisations
# Sections that a file given with --memory may have.
MEMORY_SECTIONS = ("dram", "memory", "refresh")


@dataclass(frozen=True)
class Layer:
    """Some keys of a configuration and where they come from.

    Attributes:
        values: section -> key -> value, and `name`, `kind` at the top.
        source: what an error calls it: a file's path or the words of the command line.
        text: the TOML text, to find the line of a key; empty if there is none.
    """

    values: dict[str, Any]
    source: str
    text: str = ""

    def place(self, path: Sequence[str]) -> str:
        """`FILE: line 7: ` for a key of a file, `WORDS: ` otherwise."""
        line = _line_of(self.text, path)
        return f"{self.source}: line {line}: " if line else f"{self.source}: "


@dataclass(frozen=True)
class Setting:
    """One `--set [SYSTEM.]key=value`: the system that it is for (None: all), and the key's path."""

    system: str | None
    path: tuple[str, ...]
    value: Any
    source: str

    def layer(self) -> Layer:
        """The setting as a layer."""
        values: Any = self.value
        for part in reversed(self.path):
            values = {part: values}
        return Layer(values, self.source)


def preset_names() -> list[str]:
    """Names of the systems that come with the package."""
    files = (Path(entry.name) for entry in resources.files("recnmp.presets").iterdir())
    return sorted(file.stem for file in files if file.suffix == ".toml" and file.stem not in _NOT_SYSTEMS)


def read_layer(path: str | Path) -> Layer:
    """Read a TOML file; keys are checked, values not yet.

    Raises:
        RecnmpError: no such file, not TOML, or a key that does not exist.
    """
    source = str(path)
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise RecnmpError(f"{source}: cannot be read as configuration: {reason}") from None
    return _parse(text, source)


def system_layer(name: str) -> Layer:
    """The lowest layer of a system: a preset by name, or a file when the name ends in `.toml`."""
    if name.endswith(".toml"):
        layer = read_layer(name)
        if "kind" not in layer.values:
            raise RecnmpError(f'{name}: no `kind`: a system file says kind = "nmp" or kind = "host"')
        return Layer({"name": Path(name).stem, **layer.values}, layer.source, layer.text)
    if name not in preset_names():
        known = preset_names()
        raise RecnmpError(
            f"unknown system '{name}', {nearest(name, known)} (known: {', '.join(known)}, or a .toml file)"
        )
    text = resources.files("recnmp.presets").joinpath(f"{name}.toml").read_text(encoding="utf-8")
    layer = _parse(text, f"preset {name}")
    return Layer({"name": name, **layer.values}, layer.source, layer.text)


def memory_layer(memory: str) -> Layer:
    """`DIMMSxRANKS` such as `4x2`, or a TOML file with sections dram, memory, refresh."""
    form = re.fullmatch(r"([0-9]{1,9})x([0-9]{1,9})", memory)
    if form:
        geometry = {"dimms": int(form[1]), "ranks_per_dimm": int(form[2])}
        return Layer({"memory": geometry}, f"--memory {memory}")
    if not os.path.isfile(memory):
        raise RecnmpError(f"--memory {clipped(memory)}: neither DIMMSxRANKS (1x2, 1x4, 2x2, 4x2) nor a file")
    layer = read_layer(memory)
    for key in layer.values:
        if key not in MEMORY_SECTIONS:
            allowed = ", ".join(MEMORY_SECTIONS)
            raise RecnmpError(f"{layer.place((key,))}{key}: a memory file has only sections {allowed}")
    return layer


def overlay_layer(path: str | Path) -> Layer:
    """A file given with --config: sections that go over those of every system."""
    layer = read_layer(path)
    for key in layer.values:
        if key not in SECTIONS:
            raise RecnmpError(
                f"{layer.place((key,))}{key}: belongs to one system; name the file with --system"
            )
    return layer


def parse_setting(words: str, systems: Iterable[str], source: str = "") -> Setting:
    """Read `[SYSTEM.]section.key=value`; the value has TOML syntax, a bare word is a string.

    Args:
        words: what was given after --set.
        systems: names that may stand in front. `host.read_queue` is section host; the system of that
            name is meant when a section follows: `host.host.read_queue`.
        source: what an error calls it, if it was not given after --set.
    """
    source = source or f"--set {clipped(words)}"
    if not words.isprintable():
        raise RecnmpError(f"{source}: has characters that cannot be printed, such as a new line")
    key, equals, value = words.partition("=")
    path = tuple(part.strip() for part in key.split("."))
    if not equals or not all(path):
        raise RecnmpError(f"{source}: expected [SYSTEM.]section.key=value")
    systems = list(systems)
    system, rest = None, path
    for name in sorted(systems, key=len, reverse=True):
        after = path[len(name.split(".")) :]
        if key.strip().startswith(f"{name}.") and len(after) >= 2 and after[0] in SECTIONS:
            system, rest = name, after
            break
    if not 2 <= len(rest) <= 3:  # three: dram.overrides.nFAW
        raise RecnmpError(f"{source}: expected [SYSTEM.]section.key=value, sections: {', '.join(SECTIONS)}")
    if system is None and len(rest) > 2 and rest[1] in SECTIONS:
        raise RecnmpError(f"{source}: no system '{rest[0]}' in this run, {nearest(rest[0], systems)}")
    setting = Setting(system, rest, _parse_value(value.strip(), source), source)
    _check_keys(setting.layer())
    return setting


def build(layers: Sequence[Layer]) -> SystemConfig:
    """One system from its layers, the lowest first.

    Raises:
        RecnmpError: a value is wrong; names the layer it came from, key, value and what is allowed.
    """
    merged: dict[str, Any] = {}
    for layer in layers:
        _overlay(merged, layer.values)
    try:
        return SystemConfig(**merged)
    except ValidationError as error:
        raise RecnmpError(_one_line(error.errors()[0], layers)) from None
    except RecnmpError as error:
        named = dict.fromkeys(layer.source for layer in layers)
        raise RecnmpError(f"{' + '.join(named)}: {error}") from None


def load_system(
    name: str,
    overlays: Sequence[Layer] = (),
    settings: Sequence[Setting] = (),
) -> SystemConfig:
    """A system by preset or file name, with overlays and settings over it.

    Sections and settings for near-memory units do not concern a host and are passed over there, unless a
    setting names the host itself.
    """
    base = system_layer(name)
    host = base.values.get("kind") == "host"
    own = str(base.values["name"])
    layers = [base]
    for overlay in overlays:
        kept = {key: value for key, value in overlay.values.items() if not (host and key in NEAR_MEMORY)}
        layers.append(Layer(kept, overlay.source, overlay.text))
    for setting in settings:
        everyone = setting.system is None and not (host and setting.path[0] in NEAR_MEMORY)
        if everyone or setting.system in (name, own):
            layers.append(setting.layer())
    return build(layers)


def with_layers(config: SystemConfig, layers: Sequence[Layer]) -> SystemConfig:
    """A system with more layers over it."""
    return build([Layer(config.model_dump(), config.name), *layers]) if layers else config


def to_toml(config: SystemConfig) -> str:
    """The whole configuration as TOML text that `load_system` reads back to an equal one."""
    lines = [f'name = "{config.name}"', f'kind = "{config.kind}"']
    for section in SECTIONS:
        values = getattr(config, section)
        if values is None:
            continue
        lines += ["", f"[{section}]"]
        lines += [f"{key} = {_toml_value(value)}" for key, value in values.model_dump().items()]
    return "\n".join(lines) + "\n"


def _parse(text: str, source: str) -> Layer:
    try:
        values = toml_values(text)
    except ValueError as error:
        raise RecnmpError(f"{source}: not TOML: {error}") from None
    layer = Layer(values, source, text)
    _check_keys(layer)
    return layer


def _check_keys(layer: Layer) -> None:
    top = [*SystemConfig.model_fields]
    for key, values in layer.values.items():
        if key not in top:
            raise RecnmpError(f"{layer.place((key,))}unknown key '{key}', {nearest(key, top)}")
        if key not in SECTIONS:
            continue
        if not isinstance(values, dict):
            raise RecnmpError(
                f"{layer.place((key,))}{key} is a section, not a value ({clipped(repr(values))})"
            )
        known = [*SECTIONS[key].model_fields]
        for name in values:
            if name not in known:
                near = _elsewhere(name) or nearest(name, known)
                raise RecnmpError(f"{layer.place((key, name))}unknown key '{key}.{name}', {near}")


def _elsewhere(name: str) -> str:
    """Text naming the section that has this very key, or ""."""
    homes = [section for section, model in SECTIONS.items() if name in model.model_fields]
    return f"it is '{homes[0]}.{name}'" if homes else ""


def _overlay(target: dict[str, Any], values: dict[str, Any]) -> None:
    for key, value in values.items():
        if isinstance(value, dict) and isinstance(target.get(key), dict):
            _overlay(target[key], value)
        else:
            target[key] = dict(value) if isinstance(value, dict) else value


def _one_line(error: ErrorDetails, layers: Sequence[Layer]) -> str:
    path = [str(part) for part in error["loc"]]
    origin = next((layer for layer in reversed(layers) if _has(layer.values, path)), layers[-1])
    message = error["msg"][0].lower() + error["msg"][1:]
    return f"{origin.place(path)}{'.'.join(path)} = {clipped(repr(error['input']))}: {message}"


def _has(values: Any, path: Sequence[str]) -> bool:
    for part in path:
        if not isinstance(values, dict) or part not in values:
            return False
        values = values[part]
    return True


def _line_of(text: str, path: Sequence[str]) -> int:
    """Line (from 1) of a key in TOML text; 0 if it is not found. Good enough to point at, not a parser."""
    header: list[str] = []
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if line.startswith("["):
            header = [part.strip(" \"'") for part in line.split("]")[0].strip("[").split(".")]
            if header == list(path):
                return number
        elif "=" in line and not line.startswith("#"):
            key = [part.strip(" \"'") for part in line.split("=")[0].split(".")]
            if [*header, *key] == list(path):
                return number
    return 0


def _parse_value(text: str, source: str) -> Any:
    try:
        value = toml_values(f"value = {text}")["value"]
        # in brackets neither a comment nor anything else can hide behind the value
        if len(toml_values(f"value = [{text}]")["value"]) == 1:
            return value
    except ValueError:
        if text and text[0].isalpha() and not set(text) & set(" \"'[]{},=\n"):
            return text
        if re.fullmatch("[0-9]{1,18}[A-Za-z]{1,3}", text):  # a size: 8M
            return text
    raise RecnmpError(f"{source}: '{clipped(text)}' is not a TOML value")


def _toml_value(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml_value(item)}" for key, item in value.items()) + " }"
    if isinstance(value, bool):
        return str(value).lower()
    if value is None:
        return f'"{NONE}"'
    return f'"{value}"' if isinstance(value, str) else repr(value)
