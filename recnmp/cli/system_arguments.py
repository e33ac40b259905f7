"""The options that choose a system, shared by `simulate` and `config`: --memory, --config, --set, --seed."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from ..config.load import (
    Layer,
    Setting,
    load_system,
    memory_layer,
    overlay_layer,
    parse_setting,
    system_layer,
)
from ..config.system import SystemConfig
from ..errors import RecnmpError

BASELINE = "host"


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
    args: argparse.Namespace, names: Sequence[str]
) -> tuple[list[SystemConfig], list[Setting]]:
    """The systems that the options ask for, and the settings.

    Args:
        args: parsed options, with those of `add_system_arguments`.
        names: presets and .toml files, in the order of the command line.

    Raises:
        RecnmpError: an unknown name, key or value, or a key that no system of this run has.
    """
    overlays: list[Layer] = []
    if args.config:
        overlays.append(overlay_layer(args.config))
    if args.memory:
        overlays.append(memory_layer(args.memory))
    # of preset files under their own name and under that of the file
    known = [*names, *(str(system_layer(name).values["name"]) for name in names), BASELINE]
    settings = [parse_setting(words, dict.fromkeys(known)) for words in args.settings]
    for setting in settings:
        if setting.system == BASELINE and BASELINE not in names and setting.path[0] not in ("host", "energy"):
            key = ".".join(setting.path)
            raise RecnmpError(
                f"{setting.source}: the baseline has its system's {setting.path[0]} (D14); --set {key}=... "
                "changes both"
            )
    systems = [load_system(name, overlays, settings) for name in names]
    if not any(system.kind == "nmp" for system in systems):
        for setting in settings:
            if setting.system is None and setting.path[0] == "nmp":
                raise RecnmpError(f"{setting.source}: no system of this run has near-memory units")
    return systems, settings
