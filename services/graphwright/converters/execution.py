"""execution.proto: batches of graphs to run, and their runs."""

from graphwright.contracts.v1 import execution_pb2 as pb
from graphwright.converters.fields import decoder, each, required, stated
from graphwright.converters.graph import decode_graph, encode_graph
from graphwright.search.calls import Sampling
from graphwright.search.messages import (
    BatchExecuted,
    BatchGraph,
    BatchQuestion,
    ExecuteBatch,
    Execution,
)


def encode_sampling(sampling: Sampling) -> pb.Sampling:
    """Encode sampling parameters."""
    return pb.Sampling(
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        top_k=sampling.top_k,
        max_tokens=sampling.max_tokens,
        stop=sampling.stop,
    )


@decoder
def decode_sampling(message: pb.Sampling) -> Sampling:
    """Decode sampling parameters. Raises InvalidField."""
    return Sampling(
        temperature=message.temperature,
        top_p=message.top_p,
        top_k=message.top_k,
        max_tokens=message.max_tokens,
        stop=tuple(message.stop),
    )


def encode_batch_graph(item: BatchGraph) -> pb.BatchGraph:
    """Encode a graph of a batch."""
    return pb.BatchGraph(trial_id=item.trial_id, graph=encode_graph(item.graph))


@decoder
def decode_batch_graph(message: pb.BatchGraph) -> BatchGraph:
    """Decode a graph of a batch. Raises InvalidField."""
    return BatchGraph(
        trial_id=stated(message, "trial_id"), graph=required(message, "graph", decode_graph)
    )


def encode_batch_question(question: BatchQuestion) -> pb.BatchQuestion:
    """Encode a question of a batch."""
    return pb.BatchQuestion(id=question.id, text=question.text)


@decoder
def decode_batch_question(message: pb.BatchQuestion) -> BatchQuestion:
    """Decode a question of a batch. Raises InvalidField."""
    return BatchQuestion(id=stated(message, "id"), text=message.text)


def encode_execute_batch(batch: ExecuteBatch) -> pb.ExecuteBatch:
    """Encode the command to run a batch."""
    return pb.ExecuteBatch(
        search_id=batch.search_id,
        batch_id=batch.batch_id,
        attempt=batch.attempt,
        task=batch.task,
        task_hash=batch.task_hash,
        pool=batch.pool,
        epoch=batch.epoch,
        seed=batch.seed,
        share_draws=batch.share_draws,
        sampling=encode_sampling(batch.sampling),
        graphs=map(encode_batch_graph, batch.graphs),
        questions=map(encode_batch_question, batch.questions),
    )


@decoder
def decode_execute_batch(message: pb.ExecuteBatch) -> ExecuteBatch:
    """Decode the command to run a batch. Raises InvalidField."""
    return ExecuteBatch(
        search_id=stated(message, "search_id"),
        batch_id=stated(message, "batch_id"),
        attempt=message.attempt,
        task=message.task,
        task_hash=message.task_hash,
        pool=message.pool,
        epoch=message.epoch,
        seed=message.seed,
        share_draws=message.share_draws,
        sampling=required(message, "sampling", decode_sampling),
        graphs=each("graphs", message.graphs, decode_batch_graph),
        questions=each("questions", message.questions, decode_batch_question),
    )


def encode_execution(execution: Execution) -> pb.Execution:
    """Encode a run."""
    return pb.Execution(
        trial_id=execution.trial_id,
        question_id=execution.question_id,
        answer=execution.answer,
        failed=execution.failed,
        failure=execution.failure,
        latency_seconds=execution.latency_seconds,
        calls=execution.calls,
        executed_calls=execution.executed_calls,
        prompt_tokens=execution.prompt_tokens,
        output_tokens=execution.output_tokens,
        flops=execution.flops,
        usd=execution.usd,
    )


@decoder
def decode_execution(message: pb.Execution) -> Execution:
    """Decode a run. Raises InvalidField."""
    return Execution(
        trial_id=stated(message, "trial_id"),
        question_id=stated(message, "question_id"),
        answer=message.answer,
        failed=message.failed,
        failure=message.failure,
        latency_seconds=message.latency_seconds,
        calls=message.calls,
        executed_calls=message.executed_calls,
        prompt_tokens=message.prompt_tokens,
        output_tokens=message.output_tokens,
        flops=message.flops,
        usd=message.usd,
    )


def encode_batch_executed(batch: BatchExecuted) -> pb.BatchExecuted:
    """Encode the runs of a batch."""
    return pb.BatchExecuted(
        search_id=batch.search_id,
        batch_id=batch.batch_id,
        attempt=batch.attempt,
        task=batch.task,
        task_hash=batch.task_hash,
        executions=map(encode_execution, batch.executions),
    )


@decoder
def decode_batch_executed(message: pb.BatchExecuted) -> BatchExecuted:
    """Decode the runs of a batch. Raises InvalidField."""
    return BatchExecuted(
        search_id=stated(message, "search_id"),
        batch_id=stated(message, "batch_id"),
        attempt=message.attempt,
        task=message.task,
        task_hash=message.task_hash,
        executions=each("executions", message.executions, decode_execution),
    )
