"""The command's configuration; the only place that reads its environment."""

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class CliSettings(BaseSettings):
    """`GRAPHWRIGHT_URL` is host:port of a planner; without it the local stack's is used."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore", env_ignore_empty=True)

    url: str | None = Field(default=None, validation_alias="GRAPHWRIGHT_URL")
