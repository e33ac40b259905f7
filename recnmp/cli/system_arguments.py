"""The options that choose a system, shared by `simulate` and `config`: --memory, --config, --set.

--seed and --mode of `simulate` are settings too, by a short name.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

from ..config.load import (
    Layer,
    Setting,
    load_system,
    memory_layer,
    overlay_layer,
    parse_setting,
    system_layer,
    with_layers,
)
from ..config.system import HOST, NEAR_MEMORY, SystemConfig
from ..errors import RecnmpError

BASELINE = HOST
OWN_SECTIONS = ("host", "energy")  # of a baseline; all else is its system's (D14)
SHORT = {"seed": "placement.seed", "mode": "run.mode"}  # option -> the key that it sets
BaselineOf = Callable[[SystemConfig], SystemConfig]


def add_system_arguments(parser: argparse.ArgumentParser) -> None:
    """Add --memory, --config and --set to a verb."""
    parser.add_argument(
        "--memory", metavar="DIMMSxRANKS|FILE", help="geometry such as 1x2, 1x4, 2x2, 4x2, or a TOML file"
    )
    parser.add_argument("--config", metavar="FILE", help="TOML sections that go over those of every system")
    parser.add_argument(
        "--set",
        metavar="[SYSTEM.]KEY=VALUE",
        action="append",
        default=[],
        dest="settings",
        help="one setting, such as nmp.window=8, for all systems or one; may be repeated",
    )


def chosen_systems(
    args: argparse.Namespace, names: Sequence[str], baseline: str = BASELINE
) -> tuple[list[SystemConfig], BaselineOf]:
    """The systems that the options ask for, and what gives each its baseline.

    Args:
        args: parsed options, with those of `add_system_arguments`.
        names: presets and .toml files, in the order of the command line.
        baseline: preset or .toml file of the host that all are measured against.

    Raises:
        RecnmpError: an unknown name, key or value, or a key that no system of this run has.
    """
    overlays: list[Layer] = []
    if args.config:
        overlays.append(overlay_layer(args.config))
    if args.memory:
        overlays.append(memory_layer(args.memory))
    own_name = str(_baseline_layer(baseline).values["name"])
    # of preset files under their own name and under that of the file
    known = [*names, *(str(system_layer(name).values["name"]) for name in names), baseline, own_name]
    # the short ones first: what --set says goes over them
    settings = [
        parse_setting(f"{SHORT[option]}={value}", (), f"--{option} {value}")
        for option in SHORT
        if (value := getattr(args, option, None)) is not None
    ]
    settings += [parse_setting(words, dict.fromkeys(known)) for words in args.settings]
    for setting in settings:
        of_baseline = setting.system in (baseline, own_name) and baseline not in names
        if of_baseline and setting.path[0] not in OWN_SECTIONS:
            key = ".".join(setting.path)
            raise RecnmpError(
                f"{setting.source}: the baseline has its system's {setting.path[0]} (D14); --set {key}=... "
                "changes both"
            )
    systems = [load_system(name, overlays, settings) for name in names]
    baseline_of = _baselines(baseline, overlays, settings)
    if not any(system.kind == "nmp" for system in systems):
        for section in NEAR_MEMORY:
            _refuse(settings, f"{section}.", "no system of this run has near-memory units")
    if not any(system.reads_per_1000_clocks for system in systems):
        reason = "no system of this run has host traffic (traffic.reads_per_1000_clocks = 0)"
        _refuse(settings, "traffic.seed", reason)
    if all(system.nmp is None or system.nmp.command_mode == "ddr" for system in systems):
        reason = "with nmp.command_mode = 'ddr' one command goes in a clock"
        _refuse(settings, "nmp.instructions_per_clock", reason)
    if not any(system.nmp is not None and system.nmp.rank_cache_bytes for system in systems):
        _refuse(
            settings, "nmp.rank_cache_", "no system of this run has a RankCache (nmp.rank_cache_bytes = 0)"
        )
    if not any(system.nmp is not None and system.nmp.packet_policy != "fcfs" for system in systems):
        for key in ("nmp.packet_queue", "nmp.starvation_limit"):
            _refuse(
                settings, key, "in no system of this run a packet passes another (nmp.packet_policy = 'fcfs')"
            )
    if not any(host.has_llc for host in (*systems, *map(baseline_of, systems))):
        _refuse(settings, "host.llc_", "no host of this run has a last-level cache (host.llc_bytes = 0)")
    return systems, baseline_of


def _refuse(settings: Sequence[Setting], keys: str, reason: str) -> None:
    """Refuse settings that would change nothing."""
    for setting in settings:
        key = ".".join(setting.path)
        if key.startswith(keys) and key != f"{keys}bytes":
            raise RecnmpError(f"{setting.source}: {reason}")


def _baseline_layer(name: str) -> Layer:
    """What a host says of itself that a baseline may have of its own."""
    layer = system_layer(name)
    if layer.values.get("kind", "nmp") != "host":
        raise RecnmpError(f"--baseline {name}: has near-memory units, a baseline is of kind host")
    for key in layer.values:
        if name.endswith(".toml") and key not in ("name", "kind", *OWN_SECTIONS):
            raise RecnmpError(
                f"{layer.place((key,))}{key}: a baseline has its system's (D14), and of its own only sections "
                f"{', '.join(OWN_SECTIONS)}"
            )
    return layer


def _baselines(name: str, overlays: Sequence[Layer], settings: Sequence[Setting]) -> BaselineOf:
    """The baseline of a system: the host of its memory, with what host `name` and settings say of themselves."""
    layer = _baseline_layer(name)
    own_name = str(layer.values["name"])
    own_settings = [setting for setting in settings if setting.system in (name, own_name)]
    if name == BASELINE:
        layers = [setting.layer() for setting in own_settings]
        return lambda system: (
            system if system.baseline() is system else with_layers(system.baseline(), layers)
        )
    # resolved as that host would be, so that --config and --set go over what its file says
    resolved = load_system(name, overlays, settings).model_dump()
    said = [layer, *(setting.layer() for setting in own_settings)]
    own = {
        section: {key: resolved[section][key] for each in said for key in each.values.get(section, ())}
        for section in OWN_SECTIONS
    }
    over = Layer(own, f"--baseline {name}")
    return lambda system: (
        system
        if system.kind == "host" and system.name == own_name
        else with_layers(system.as_host(own_name), [over])
    )
