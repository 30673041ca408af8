"""The environment, as the local stack reads it."""

import os
from pathlib import Path

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

import graphwright


def repository_root() -> Path:
    """The folder that holds `services/`, where this package lies in a clone of the repository."""
    return Path(graphwright.__file__).resolve().parents[2]


def _home() -> Path:
    root = repository_root()
    if (root / "pyproject.toml").is_file():
        return root / "var" / "graphwright"
    return Path.home() / ".local" / "state" / "graphwright"


class LocalSettings(BaseSettings):
    """Where the stack keeps its state, and the servers that need not be started."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore", env_ignore_empty=True)

    home: Path = Field(default_factory=_home, validation_alias="GRAPHWRIGHT_HOME")
    nats_url: str | None = Field(default=None, validation_alias="NATS_URL")
    mongodb_uri: str | None = Field(default=None, validation_alias="MONGODB_URI")
    triton_url: str | None = Field(default=None, validation_alias="TRITON_URL")

    @field_validator("home")
    @classmethod
    def _from_anywhere(cls, home: Path) -> Path:
        """A later command may run in another folder."""
        return home.absolute()

    @property
    def given(self) -> dict[str, str]:
        """The servers that the environment names, by variable."""
        urls = {
            "NATS_URL": self.nats_url,
            "MONGODB_URI": self.mongodb_uri,
            "TRITON_URL": self.triton_url,
        }
        return {name: url for name, url in urls.items() if url is not None}

    @property
    def pocket(self) -> Path:
        """The folder of the pocket models."""
        return repository_root() / "infra" / "triton" / "pocket"

    @property
    def compiled(self) -> Path:
        """Compiled model code; kept apart from the home, to outlive it."""
        return _home().parent / "cache" / "numba"


def inherited() -> dict[str, str]:
    """The environment that started processes inherit."""
    return dict(os.environ)
