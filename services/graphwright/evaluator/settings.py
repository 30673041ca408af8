"""The evaluator's configuration; the only place that reads its environment."""

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class EvaluatorSettings(BaseSettings):
    """Environment variables: those named here, otherwise `GRAPHWRIGHT_EVALUATOR_…`.

    `batches` are graded at once.
    """

    model_config = SettingsConfigDict(
        env_prefix="GRAPHWRIGHT_EVALUATOR_", frozen=True, extra="ignore", env_ignore_empty=True
    )

    nats_url: str = Field(default="nats://127.0.0.1:4222", validation_alias="NATS_URL")
    log_level: str = Field(default="info", validation_alias="GRAPHWRIGHT_LOG_LEVEL")
    http_port: int = Field(default=9103, ge=0, le=65535)
    batches: int = Field(default=4, ge=1, le=1024)
    ack_wait_seconds: float = Field(default=30.0, gt=0)
