"""Base of all settings: frozen, and strict about names and values."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, Literal, Self, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from attract.settings.errors import dotted, refusal

PREFIX: Final = "ATTRACT_"
"""Prefix of all environment variables."""

Fraction = Annotated[float, Field(ge=0.0, le=1.0)]
Positive = Annotated[int, Field(ge=1, le=2**53 - 1)]
"""Up to what every number type of the project holds exactly."""
ScheduleName = Literal["constant", "linear"]
LearnerName = Literal["auto", "autograd"]
LogFormat = Literal["text", "json"]
LogLevel = Literal["debug", "info", "warning", "error"]


class Settings(BaseModel):
    """Immutable settings of one concern; an unknown key is refused and the nearest valid name suggested."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        use_attribute_docstrings=True,
        field_title_generator=lambda name, _: name.replace("_", " ").capitalize(),
    )

    section: ClassVar[str] = ""
    """Name of the section in YAML and on the command line, for messages."""

    @classmethod
    def from_mapping(cls, data: Mapping[str, Any]) -> Self:
        """Settings from plain data (YAML, flags, environment).

        Raises: ConfigurationError: for unknown names and for values that cannot work, naming each.
        """
        prefix = (cls.section,) if cls.section else ()
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            raise refusal(error, cls, data, lambda path: dotted((*prefix, *path))) from None


def variable(*path: str) -> str:
    """The environment variable that gives a setting, such as `ATTRACT_PPO_GAMMA`."""
    return PREFIX + "_".join(path).upper()


def split_names(given: Any) -> Any:
    """The names in a text with commas, alone or as the one of a list; a number alone is a name as well."""
    texts = [str(given)] if isinstance(given, str) or type(given) is int else given
    if not isinstance(texts, list | tuple):
        return texts
    return tuple(
        part.strip() if isinstance(part, str) else part
        for text in cast("list[Any]", list(texts))
        for part in (text.split(",") if isinstance(text, str) else (text,))
    )
