"""grading.proto: grades and graded runs."""

from graphwright.contracts.v1 import grading_pb2 as pb
from graphwright.converters.execution import decode_execution, encode_execution
from graphwright.converters.fields import decoder, each, required, stated
from graphwright.search.messages import BatchGraded, Grade, GradedExecution


def encode_grade(grade: Grade) -> pb.Grade:
    """Encode a grade."""
    return pb.Grade(score=grade.score, reason=grade.reason)


@decoder
def decode_grade(message: pb.Grade) -> Grade:
    """Decode a grade. Raises InvalidField."""
    return Grade(score=message.score, reason=message.reason)


def encode_graded_execution(graded: GradedExecution) -> pb.GradedExecution:
    """Encode a graded run."""
    return pb.GradedExecution(
        execution=encode_execution(graded.execution), grade=encode_grade(graded.grade)
    )


@decoder
def decode_graded_execution(message: pb.GradedExecution) -> GradedExecution:
    """Decode a graded run. Raises InvalidField."""
    return GradedExecution(
        execution=required(message, "execution", decode_execution),
        grade=required(message, "grade", decode_grade),
    )


def encode_batch_graded(batch: BatchGraded) -> pb.BatchGraded:
    """Encode the graded runs of a batch."""
    return pb.BatchGraded(
        search_id=batch.search_id,
        batch_id=batch.batch_id,
        attempt=batch.attempt,
        executions=map(encode_graded_execution, batch.executions),
    )


@decoder
def decode_batch_graded(message: pb.BatchGraded) -> BatchGraded:
    """Decode the graded runs of a batch. Raises InvalidField."""
    return BatchGraded(
        search_id=stated(message, "search_id"),
        batch_id=stated(message, "batch_id"),
        attempt=message.attempt,
        executions=each("executions", message.executions, decode_graded_execution),
    )
