"""The planner's configuration; the only place that reads its environment."""

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class PlannerSettings(BaseSettings):
    """Environment variables: those named here, otherwise `GRAPHWRIGHT_PLANNER_…`.

    A planner advances up to `searches` searches at once, each under a lease of `lease_seconds`. A
    batch of at most `questions_per_batch` questions is sent again after `batch_seconds` without an
    answer.
    """

    model_config = SettingsConfigDict(
        env_prefix="GRAPHWRIGHT_PLANNER_", frozen=True, extra="ignore", env_ignore_empty=True
    )

    nats_url: str = Field(default="nats://127.0.0.1:4222", validation_alias="NATS_URL")
    mongodb_uri: str = Field(default="mongodb://127.0.0.1:27017", validation_alias="MONGODB_URI")
    mongodb_database: str = Field(default="graphwright", validation_alias="MONGODB_DATABASE")
    log_level: str = Field(default="info", validation_alias="GRAPHWRIGHT_LOG_LEVEL")
    grpc_port: int = Field(default=50051, ge=0, le=65535)
    http_port: int = Field(default=9101, ge=0, le=65535)
    searches: int = Field(default=4, ge=1, le=256)
    lease_seconds: float = Field(default=15.0, gt=0)
    claim_seconds: float = Field(default=0.5, gt=0)
    questions_per_batch: int = Field(default=16, ge=1, le=1024)
    batch_seconds: float = Field(default=1800.0, gt=0)
    ack_wait_seconds: float = Field(default=30.0, gt=0)
