from graphwright.contracts.v1 import execution_pb2 as _execution_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Grade(_message.Message):
    __slots__ = ("score", "reason")
    SCORE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    score: float
    reason: str
    def __init__(self, score: _Optional[float] = ..., reason: _Optional[str] = ...) -> None: ...

class GradedExecution(_message.Message):
    __slots__ = ("execution", "grade")
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    GRADE_FIELD_NUMBER: _ClassVar[int]
    execution: _execution_pb2.Execution
    grade: Grade
    def __init__(self, execution: _Optional[_Union[_execution_pb2.Execution, _Mapping]] = ..., grade: _Optional[_Union[Grade, _Mapping]] = ...) -> None: ...

class BatchGraded(_message.Message):
    __slots__ = ("search_id", "batch_id", "attempt", "executions")
    SEARCH_ID_FIELD_NUMBER: _ClassVar[int]
    BATCH_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    EXECUTIONS_FIELD_NUMBER: _ClassVar[int]
    search_id: str
    batch_id: str
    attempt: int
    executions: _containers.RepeatedCompositeFieldContainer[GradedExecution]
    def __init__(self, search_id: _Optional[str] = ..., batch_id: _Optional[str] = ..., attempt: _Optional[int] = ..., executions: _Optional[_Iterable[_Union[GradedExecution, _Mapping]]] = ...) -> None: ...
