"""recnmp: clock-exact simulation of near-memory processing for recommendation models."""

from typing import TYPE_CHECKING, Any

from .errors import RecnmpError

if TYPE_CHECKING:
    from .config.system import SystemConfig
    from .replay import HostChannel, Replay, replay_dram
    from .workload import Table, Workload

__version__ = "0.1.0"

# name -> module: imported when first asked for, so that `recnmp --help` loads no NumPy
_WHERE = {
    "HostChannel": "replay",
    "Replay": "replay",
    "SystemConfig": "config.system",
    "Table": "workload",
    "Workload": "workload",
    "replay_dram": "replay",
}

__all__ = [
    "HostChannel",
    "RecnmpError",
    "Replay",
    "SystemConfig",
    "Table",
    "Workload",
    "__version__",
    "replay_dram",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f".{_WHERE[name]}", __name__), name)
