"""What all settings have in common: frozen, and strict about names and values."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from attract.errors import ConfigurationError, nearest_name

Fraction = Annotated[float, Field(ge=0.0, le=1.0)]
Positive = Annotated[int, Field(ge=1)]
ScheduleName = Literal["constant", "linear"]


class Settings(BaseModel):
    """Immutable settings of one concern; an unknown key is refused and the nearest valid name suggested."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True)

    section: ClassVar[str] = ""
    """How the section is called in YAML and on the command line, for messages."""

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        names = set(cls.model_fields)
        for key in cast("Mapping[str, Any]", data):
            if key not in names:
                full = f"{cls.section}.{key}" if cls.section else key
                near = nearest_name(key, names)
                fix = f"did you mean {near!r}?" if near else f"valid names: {', '.join(sorted(names))}"
                raise ConfigurationError("there is no such setting", setting=full, fix=fix)
        return cast("Any", data)

    @classmethod
    def from_mapping(cls, data: Mapping[str, Any]) -> Self:
        """Settings from plain data (YAML, flags, environment).

        Raises: ConfigurationError: for unknown names and for values that cannot work, naming each.
        """
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            problems: list[str] = []
            by_setting: list[tuple[str, str]] = []
            for detail in error.errors(include_url=False):
                path = ".".join(str(part) for part in (cls.section, *detail["loc"]) if part != "")
                message = detail["msg"].removeprefix("Value error, ")
                problems.append(f"{path}: {message} (got {detail['input']!r})" if detail["loc"] else message)
                by_setting.append((path, message))
            raise ConfigurationError("; ".join(problems), problems=by_setting) from None
