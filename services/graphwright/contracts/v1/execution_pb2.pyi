from graphwright.contracts.v1 import graph_pb2 as _graph_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Sampling(_message.Message):
    __slots__ = ("temperature", "top_p", "top_k", "max_tokens", "stop")
    TEMPERATURE_FIELD_NUMBER: _ClassVar[int]
    TOP_P_FIELD_NUMBER: _ClassVar[int]
    TOP_K_FIELD_NUMBER: _ClassVar[int]
    MAX_TOKENS_FIELD_NUMBER: _ClassVar[int]
    STOP_FIELD_NUMBER: _ClassVar[int]
    temperature: float
    top_p: float
    top_k: int
    max_tokens: int
    stop: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, temperature: _Optional[float] = ..., top_p: _Optional[float] = ..., top_k: _Optional[int] = ..., max_tokens: _Optional[int] = ..., stop: _Optional[_Iterable[str]] = ...) -> None: ...

class BatchGraph(_message.Message):
    __slots__ = ("trial_id", "graph")
    TRIAL_ID_FIELD_NUMBER: _ClassVar[int]
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    trial_id: str
    graph: _graph_pb2.Graph
    def __init__(self, trial_id: _Optional[str] = ..., graph: _Optional[_Union[_graph_pb2.Graph, _Mapping]] = ...) -> None: ...

class BatchQuestion(_message.Message):
    __slots__ = ("id", "text")
    ID_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    id: str
    text: str
    def __init__(self, id: _Optional[str] = ..., text: _Optional[str] = ...) -> None: ...

class ExecuteBatch(_message.Message):
    __slots__ = ("search_id", "batch_id", "attempt", "task", "task_hash", "pool", "epoch", "seed", "share_draws", "sampling", "graphs", "questions")
    SEARCH_ID_FIELD_NUMBER: _ClassVar[int]
    BATCH_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    TASK_HASH_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    SHARE_DRAWS_FIELD_NUMBER: _ClassVar[int]
    SAMPLING_FIELD_NUMBER: _ClassVar[int]
    GRAPHS_FIELD_NUMBER: _ClassVar[int]
    QUESTIONS_FIELD_NUMBER: _ClassVar[int]
    search_id: str
    batch_id: str
    attempt: int
    task: str
    task_hash: str
    pool: str
    epoch: str
    seed: int
    share_draws: bool
    sampling: Sampling
    graphs: _containers.RepeatedCompositeFieldContainer[BatchGraph]
    questions: _containers.RepeatedCompositeFieldContainer[BatchQuestion]
    def __init__(self, search_id: _Optional[str] = ..., batch_id: _Optional[str] = ..., attempt: _Optional[int] = ..., task: _Optional[str] = ..., task_hash: _Optional[str] = ..., pool: _Optional[str] = ..., epoch: _Optional[str] = ..., seed: _Optional[int] = ..., share_draws: _Optional[bool] = ..., sampling: _Optional[_Union[Sampling, _Mapping]] = ..., graphs: _Optional[_Iterable[_Union[BatchGraph, _Mapping]]] = ..., questions: _Optional[_Iterable[_Union[BatchQuestion, _Mapping]]] = ...) -> None: ...

class Execution(_message.Message):
    __slots__ = ("trial_id", "question_id", "answer", "failed", "failure", "latency_seconds", "calls", "executed_calls", "prompt_tokens", "output_tokens", "flops", "usd")
    TRIAL_ID_FIELD_NUMBER: _ClassVar[int]
    QUESTION_ID_FIELD_NUMBER: _ClassVar[int]
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    LATENCY_SECONDS_FIELD_NUMBER: _ClassVar[int]
    CALLS_FIELD_NUMBER: _ClassVar[int]
    EXECUTED_CALLS_FIELD_NUMBER: _ClassVar[int]
    PROMPT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    FLOPS_FIELD_NUMBER: _ClassVar[int]
    USD_FIELD_NUMBER: _ClassVar[int]
    trial_id: str
    question_id: str
    answer: str
    failed: bool
    failure: str
    latency_seconds: float
    calls: int
    executed_calls: int
    prompt_tokens: int
    output_tokens: int
    flops: float
    usd: float
    def __init__(self, trial_id: _Optional[str] = ..., question_id: _Optional[str] = ..., answer: _Optional[str] = ..., failed: _Optional[bool] = ..., failure: _Optional[str] = ..., latency_seconds: _Optional[float] = ..., calls: _Optional[int] = ..., executed_calls: _Optional[int] = ..., prompt_tokens: _Optional[int] = ..., output_tokens: _Optional[int] = ..., flops: _Optional[float] = ..., usd: _Optional[float] = ...) -> None: ...

class BatchExecuted(_message.Message):
    __slots__ = ("search_id", "batch_id", "attempt", "task", "task_hash", "executions")
    SEARCH_ID_FIELD_NUMBER: _ClassVar[int]
    BATCH_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    TASK_HASH_FIELD_NUMBER: _ClassVar[int]
    EXECUTIONS_FIELD_NUMBER: _ClassVar[int]
    search_id: str
    batch_id: str
    attempt: int
    task: str
    task_hash: str
    executions: _containers.RepeatedCompositeFieldContainer[Execution]
    def __init__(self, search_id: _Optional[str] = ..., batch_id: _Optional[str] = ..., attempt: _Optional[int] = ..., task: _Optional[str] = ..., task_hash: _Optional[str] = ..., executions: _Optional[_Iterable[_Union[Execution, _Mapping]]] = ...) -> None: ...
