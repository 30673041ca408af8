import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from graphwright.contracts.v1 import graph_pb2 as _graph_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class BudgetMetric(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    BUDGET_METRIC_UNSPECIFIED: _ClassVar[BudgetMetric]
    BUDGET_METRIC_FLOPS: _ClassVar[BudgetMetric]
    BUDGET_METRIC_USD: _ClassVar[BudgetMetric]
    BUDGET_METRIC_LATENCY: _ClassVar[BudgetMetric]

class AgentKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    AGENT_KIND_UNSPECIFIED: _ClassVar[AgentKind]
    AGENT_KIND_RULE: _ClassVar[AgentKind]
    AGENT_KIND_LLM: _ClassVar[AgentKind]

class SearchState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SEARCH_STATE_UNSPECIFIED: _ClassVar[SearchState]
    SEARCH_STATE_PENDING: _ClassVar[SearchState]
    SEARCH_STATE_RUNNING: _ClassVar[SearchState]
    SEARCH_STATE_SUCCEEDED: _ClassVar[SearchState]
    SEARCH_STATE_FAILED: _ClassVar[SearchState]
    SEARCH_STATE_CANCELLED: _ClassVar[SearchState]

class Stage(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STAGE_UNSPECIFIED: _ClassVar[Stage]
    STAGE_PRETEST: _ClassVar[Stage]
    STAGE_INSTANCES: _ClassVar[Stage]
    STAGE_SEARCH: _ClassVar[Stage]

class TrialStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TRIAL_STATUS_UNSPECIFIED: _ClassVar[TrialStatus]
    TRIAL_STATUS_COMPLETED: _ClassVar[TrialStatus]
    TRIAL_STATUS_FAILED: _ClassVar[TrialStatus]
BUDGET_METRIC_UNSPECIFIED: BudgetMetric
BUDGET_METRIC_FLOPS: BudgetMetric
BUDGET_METRIC_USD: BudgetMetric
BUDGET_METRIC_LATENCY: BudgetMetric
AGENT_KIND_UNSPECIFIED: AgentKind
AGENT_KIND_RULE: AgentKind
AGENT_KIND_LLM: AgentKind
SEARCH_STATE_UNSPECIFIED: SearchState
SEARCH_STATE_PENDING: SearchState
SEARCH_STATE_RUNNING: SearchState
SEARCH_STATE_SUCCEEDED: SearchState
SEARCH_STATE_FAILED: SearchState
SEARCH_STATE_CANCELLED: SearchState
STAGE_UNSPECIFIED: Stage
STAGE_PRETEST: Stage
STAGE_INSTANCES: Stage
STAGE_SEARCH: Stage
TRIAL_STATUS_UNSPECIFIED: TrialStatus
TRIAL_STATUS_COMPLETED: TrialStatus
TRIAL_STATUS_FAILED: TrialStatus

class Budget(_message.Message):
    __slots__ = ("metric", "limit")
    METRIC_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    metric: BudgetMetric
    limit: float
    def __init__(self, metric: _Optional[_Union[BudgetMetric, str]] = ..., limit: _Optional[float] = ...) -> None: ...

class SearchSpec(_message.Message):
    __slots__ = ("task", "pool", "budget", "optimizer", "agent", "seed", "iterations", "patience", "graphs", "batch", "max_nodes", "temperature", "top_p", "share_draws")
    TASK_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    BUDGET_FIELD_NUMBER: _ClassVar[int]
    OPTIMIZER_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    ITERATIONS_FIELD_NUMBER: _ClassVar[int]
    PATIENCE_FIELD_NUMBER: _ClassVar[int]
    GRAPHS_FIELD_NUMBER: _ClassVar[int]
    BATCH_FIELD_NUMBER: _ClassVar[int]
    MAX_NODES_FIELD_NUMBER: _ClassVar[int]
    TEMPERATURE_FIELD_NUMBER: _ClassVar[int]
    TOP_P_FIELD_NUMBER: _ClassVar[int]
    SHARE_DRAWS_FIELD_NUMBER: _ClassVar[int]
    task: str
    pool: str
    budget: Budget
    optimizer: str
    agent: AgentKind
    seed: int
    iterations: int
    patience: int
    graphs: int
    batch: int
    max_nodes: int
    temperature: float
    top_p: float
    share_draws: bool
    def __init__(self, task: _Optional[str] = ..., pool: _Optional[str] = ..., budget: _Optional[_Union[Budget, _Mapping]] = ..., optimizer: _Optional[str] = ..., agent: _Optional[_Union[AgentKind, str]] = ..., seed: _Optional[int] = ..., iterations: _Optional[int] = ..., patience: _Optional[int] = ..., graphs: _Optional[int] = ..., batch: _Optional[int] = ..., max_nodes: _Optional[int] = ..., temperature: _Optional[float] = ..., top_p: _Optional[float] = ..., share_draws: _Optional[bool] = ...) -> None: ...

class Usage(_message.Message):
    __slots__ = ("calls", "executed_calls", "prompt_tokens", "output_tokens", "flops", "usd")
    CALLS_FIELD_NUMBER: _ClassVar[int]
    EXECUTED_CALLS_FIELD_NUMBER: _ClassVar[int]
    PROMPT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    FLOPS_FIELD_NUMBER: _ClassVar[int]
    USD_FIELD_NUMBER: _ClassVar[int]
    calls: int
    executed_calls: int
    prompt_tokens: int
    output_tokens: int
    flops: float
    usd: float
    def __init__(self, calls: _Optional[int] = ..., executed_calls: _Optional[int] = ..., prompt_tokens: _Optional[int] = ..., output_tokens: _Optional[int] = ..., flops: _Optional[float] = ..., usd: _Optional[float] = ...) -> None: ...

class SearchProgress(_message.Message):
    __slots__ = ("step", "iteration", "rounds", "evaluations", "best_validation_score", "best_graph_hash", "usage", "seconds")
    STEP_FIELD_NUMBER: _ClassVar[int]
    ITERATION_FIELD_NUMBER: _ClassVar[int]
    ROUNDS_FIELD_NUMBER: _ClassVar[int]
    EVALUATIONS_FIELD_NUMBER: _ClassVar[int]
    BEST_VALIDATION_SCORE_FIELD_NUMBER: _ClassVar[int]
    BEST_GRAPH_HASH_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    SECONDS_FIELD_NUMBER: _ClassVar[int]
    step: str
    iteration: int
    rounds: int
    evaluations: int
    best_validation_score: float
    best_graph_hash: str
    usage: Usage
    seconds: float
    def __init__(self, step: _Optional[str] = ..., iteration: _Optional[int] = ..., rounds: _Optional[int] = ..., evaluations: _Optional[int] = ..., best_validation_score: _Optional[float] = ..., best_graph_hash: _Optional[str] = ..., usage: _Optional[_Union[Usage, _Mapping]] = ..., seconds: _Optional[float] = ...) -> None: ...

class SingleModelScore(_message.Message):
    __slots__ = ("model", "test_score", "budget_units", "within_budget")
    MODEL_FIELD_NUMBER: _ClassVar[int]
    TEST_SCORE_FIELD_NUMBER: _ClassVar[int]
    BUDGET_UNITS_FIELD_NUMBER: _ClassVar[int]
    WITHIN_BUDGET_FIELD_NUMBER: _ClassVar[int]
    model: str
    test_score: float
    budget_units: float
    within_budget: bool
    def __init__(self, model: _Optional[str] = ..., test_score: _Optional[float] = ..., budget_units: _Optional[float] = ..., within_budget: _Optional[bool] = ...) -> None: ...

class SearchResult(_message.Message):
    __slots__ = ("graph", "graph_hash", "budget_units", "validation_score", "test_score", "test_questions", "latency_seconds", "single_models")
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    GRAPH_HASH_FIELD_NUMBER: _ClassVar[int]
    BUDGET_UNITS_FIELD_NUMBER: _ClassVar[int]
    VALIDATION_SCORE_FIELD_NUMBER: _ClassVar[int]
    TEST_SCORE_FIELD_NUMBER: _ClassVar[int]
    TEST_QUESTIONS_FIELD_NUMBER: _ClassVar[int]
    LATENCY_SECONDS_FIELD_NUMBER: _ClassVar[int]
    SINGLE_MODELS_FIELD_NUMBER: _ClassVar[int]
    graph: _graph_pb2.Graph
    graph_hash: str
    budget_units: float
    validation_score: float
    test_score: float
    test_questions: int
    latency_seconds: float
    single_models: _containers.RepeatedCompositeFieldContainer[SingleModelScore]
    def __init__(self, graph: _Optional[_Union[_graph_pb2.Graph, _Mapping]] = ..., graph_hash: _Optional[str] = ..., budget_units: _Optional[float] = ..., validation_score: _Optional[float] = ..., test_score: _Optional[float] = ..., test_questions: _Optional[int] = ..., latency_seconds: _Optional[float] = ..., single_models: _Optional[_Iterable[_Union[SingleModelScore, _Mapping]]] = ...) -> None: ...

class Search(_message.Message):
    __slots__ = ("id", "request_id", "spec", "state", "progress", "result", "error", "created_at", "updated_at")
    ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    id: str
    request_id: str
    spec: SearchSpec
    state: SearchState
    progress: SearchProgress
    result: SearchResult
    error: str
    created_at: _timestamp_pb2.Timestamp
    updated_at: _timestamp_pb2.Timestamp
    def __init__(self, id: _Optional[str] = ..., request_id: _Optional[str] = ..., spec: _Optional[_Union[SearchSpec, _Mapping]] = ..., state: _Optional[_Union[SearchState, str]] = ..., progress: _Optional[_Union[SearchProgress, _Mapping]] = ..., result: _Optional[_Union[SearchResult, _Mapping]] = ..., error: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., updated_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class SearchEvent(_message.Message):
    __slots__ = ("search_id", "sequence", "state", "progress", "message")
    SEARCH_ID_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    search_id: str
    sequence: int
    state: SearchState
    progress: SearchProgress
    message: str
    def __init__(self, search_id: _Optional[str] = ..., sequence: _Optional[int] = ..., state: _Optional[_Union[SearchState, str]] = ..., progress: _Optional[_Union[SearchProgress, _Mapping]] = ..., message: _Optional[str] = ...) -> None: ...

class QuestionOutcome(_message.Message):
    __slots__ = ("question_id", "score", "failed", "latency_seconds")
    QUESTION_ID_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    LATENCY_SECONDS_FIELD_NUMBER: _ClassVar[int]
    question_id: str
    score: float
    failed: bool
    latency_seconds: float
    def __init__(self, question_id: _Optional[str] = ..., score: _Optional[float] = ..., failed: _Optional[bool] = ..., latency_seconds: _Optional[float] = ...) -> None: ...

class Trial(_message.Message):
    __slots__ = ("id", "search_id", "iteration", "stage", "origin", "graph", "graph_hash", "budget_units", "status", "score", "failed_questions", "latency_seconds", "outcomes", "usage")
    ID_FIELD_NUMBER: _ClassVar[int]
    SEARCH_ID_FIELD_NUMBER: _ClassVar[int]
    ITERATION_FIELD_NUMBER: _ClassVar[int]
    STAGE_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    GRAPH_HASH_FIELD_NUMBER: _ClassVar[int]
    BUDGET_UNITS_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    FAILED_QUESTIONS_FIELD_NUMBER: _ClassVar[int]
    LATENCY_SECONDS_FIELD_NUMBER: _ClassVar[int]
    OUTCOMES_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    id: str
    search_id: str
    iteration: int
    stage: Stage
    origin: str
    graph: _graph_pb2.Graph
    graph_hash: str
    budget_units: float
    status: TrialStatus
    score: float
    failed_questions: int
    latency_seconds: float
    outcomes: _containers.RepeatedCompositeFieldContainer[QuestionOutcome]
    usage: Usage
    def __init__(self, id: _Optional[str] = ..., search_id: _Optional[str] = ..., iteration: _Optional[int] = ..., stage: _Optional[_Union[Stage, str]] = ..., origin: _Optional[str] = ..., graph: _Optional[_Union[_graph_pb2.Graph, _Mapping]] = ..., graph_hash: _Optional[str] = ..., budget_units: _Optional[float] = ..., status: _Optional[_Union[TrialStatus, str]] = ..., score: _Optional[float] = ..., failed_questions: _Optional[int] = ..., latency_seconds: _Optional[float] = ..., outcomes: _Optional[_Iterable[_Union[QuestionOutcome, _Mapping]]] = ..., usage: _Optional[_Union[Usage, _Mapping]] = ...) -> None: ...

class SubmitSearchRequest(_message.Message):
    __slots__ = ("request_id", "spec")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    spec: SearchSpec
    def __init__(self, request_id: _Optional[str] = ..., spec: _Optional[_Union[SearchSpec, _Mapping]] = ...) -> None: ...

class SubmitSearchResponse(_message.Message):
    __slots__ = ("search",)
    SEARCH_FIELD_NUMBER: _ClassVar[int]
    search: Search
    def __init__(self, search: _Optional[_Union[Search, _Mapping]] = ...) -> None: ...

class GetSearchRequest(_message.Message):
    __slots__ = ("search_id",)
    SEARCH_ID_FIELD_NUMBER: _ClassVar[int]
    search_id: str
    def __init__(self, search_id: _Optional[str] = ...) -> None: ...

class GetSearchResponse(_message.Message):
    __slots__ = ("search",)
    SEARCH_FIELD_NUMBER: _ClassVar[int]
    search: Search
    def __init__(self, search: _Optional[_Union[Search, _Mapping]] = ...) -> None: ...

class ListSearchesRequest(_message.Message):
    __slots__ = ("page_size", "page_token", "state")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    state: SearchState
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., state: _Optional[_Union[SearchState, str]] = ...) -> None: ...

class ListSearchesResponse(_message.Message):
    __slots__ = ("searches", "next_page_token")
    SEARCHES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    searches: _containers.RepeatedCompositeFieldContainer[Search]
    next_page_token: str
    def __init__(self, searches: _Optional[_Iterable[_Union[Search, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class WatchSearchRequest(_message.Message):
    __slots__ = ("search_id",)
    SEARCH_ID_FIELD_NUMBER: _ClassVar[int]
    search_id: str
    def __init__(self, search_id: _Optional[str] = ...) -> None: ...

class WatchSearchResponse(_message.Message):
    __slots__ = ("event",)
    EVENT_FIELD_NUMBER: _ClassVar[int]
    event: SearchEvent
    def __init__(self, event: _Optional[_Union[SearchEvent, _Mapping]] = ...) -> None: ...

class CancelSearchRequest(_message.Message):
    __slots__ = ("search_id",)
    SEARCH_ID_FIELD_NUMBER: _ClassVar[int]
    search_id: str
    def __init__(self, search_id: _Optional[str] = ...) -> None: ...

class CancelSearchResponse(_message.Message):
    __slots__ = ("search",)
    SEARCH_FIELD_NUMBER: _ClassVar[int]
    search: Search
    def __init__(self, search: _Optional[_Union[Search, _Mapping]] = ...) -> None: ...

class ListTrialsRequest(_message.Message):
    __slots__ = ("search_id", "page_size", "page_token")
    SEARCH_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    search_id: str
    page_size: int
    page_token: str
    def __init__(self, search_id: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListTrialsResponse(_message.Message):
    __slots__ = ("trials", "next_page_token")
    TRIALS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    trials: _containers.RepeatedCompositeFieldContainer[Trial]
    next_page_token: str
    def __init__(self, trials: _Optional[_Iterable[_Union[Trial, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...
