"""What every section of a configuration is: strict, frozen, and each number with unit and source."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

NONE = "none"  # how files and --set say that an optional number is not there: TOML has no null


def _none(value: Any) -> Any:
    return None if value == NONE else value


OrNone = Annotated[int | None, BeforeValidator(_none)]


class Section(BaseModel):
    """A part of the configuration: unknown keys are errors, values are never converted or changed."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", allow_inf_nan=False)


def field_of(
    default: Any, description: str, unit: str, source: str, ge: float | None = None, le: float | None = None
) -> Any:
    """A number or name with its unit, and where it comes from."""
    return Field(
        default, description=description, ge=ge, le=le, json_schema_extra={"unit": unit, "source": source}
    )
