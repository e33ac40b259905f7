"""The contract that import-linter checks: each room of the package imports only what its line allows.

The table itself is in pyproject.toml, `[tool.importlinter]`: `"room: allowed allowed ..."`, a room being
a module or package directly below recnmp, `recnmp` itself the package's __init__ and `*` any room.
A room that the table does not name is a violation as well, so nobody adds one without a decision.
"""

from typing import Any

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output

PACKAGE = "recnmp"


def room_of(module: str) -> str:
    """`recnmp.kernels.dram` -> `kernels`; `recnmp` itself -> `recnmp`."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else PACKAGE


class RoomsContract(Contract):
    """Direct imports between rooms, against the table of allowed ones."""

    type_name = "rooms"

    rooms = fields.ListField(subfield=fields.StringField())
    everywhere = fields.ListField(subfield=fields.StringField())

    def _allowed(self) -> dict[str, set[str]]:
        table: dict[str, set[str]] = {}
        for line in self.rooms:  # type: ignore[attr-defined]
            room, _, allowed = str(line).partition(":")
            table[room.strip()] = set(allowed.split())
        return table

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        allowed = self._allowed()
        everywhere = set(self.everywhere)  # type: ignore[call-overload]
        broken: list[dict[str, Any]] = []
        for importer in sorted(graph.modules):
            room = room_of(importer)
            if room not in allowed:
                broken.append({"importer": importer, "why": f"room {room!r} is not in the table"})
                continue
            for imported in sorted(graph.find_modules_directly_imported_by(importer)):
                other = room_of(imported)
                if other == room or other in everywhere or other in allowed[room] or "*" in allowed[room]:
                    continue
                for detail in graph.get_import_details(importer=importer, imported=imported):
                    why = f"line {detail['line_number']}: {detail['line_contents'].strip()}"
                    broken.append({"importer": importer, "why": f"{room} must not import {other}; {why}"})
        return ContractCheck(kept=not broken, metadata={"broken": broken})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for item in check.metadata["broken"]:
            output.print_error(f"{item['importer']}: {item['why']}", bold=False)
