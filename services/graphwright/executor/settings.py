"""The executor's configuration; the only place that reads its environment."""

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class ExecutorSettings(BaseSettings):
    """Environment variables: those named here, otherwise `GRAPHWRIGHT_EXECUTOR_…`.

    `batches` are run at once; `call_seconds` bounds one language-model call.
    """

    model_config = SettingsConfigDict(
        env_prefix="GRAPHWRIGHT_EXECUTOR_", frozen=True, extra="ignore", env_ignore_empty=True
    )

    nats_url: str = Field(default="nats://127.0.0.1:4222", validation_alias="NATS_URL")
    mongodb_uri: str = Field(default="mongodb://127.0.0.1:27017", validation_alias="MONGODB_URI")
    mongodb_database: str = Field(default="graphwright", validation_alias="MONGODB_DATABASE")
    triton_url: str = Field(default="127.0.0.1:8001", validation_alias="TRITON_URL")
    log_level: str = Field(default="info", validation_alias="GRAPHWRIGHT_LOG_LEVEL")
    http_port: int = Field(default=9102, ge=0, le=65535)
    batches: int = Field(default=4, ge=1, le=1024)
    call_seconds: float = Field(default=60.0, gt=0)
    ack_wait_seconds: float = Field(default=30.0, gt=0)
