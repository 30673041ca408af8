"""From the results of shared calls to one run per graph and question."""

from collections.abc import Mapping, Sequence

from graphwright.executor.caller import CallResult
from graphwright.executor.plan import Plan, PlannedGraph
from graphwright.graphs.cost import call_flops, call_usd
from graphwright.pools.pool import ModelPool
from graphwright.search.messages import Execution


def executions(
    plan: Plan, question_id: str, results: Mapping[str, CallResult], pool: ModelPool
) -> Sequence[Execution]:
    """One `Execution` per graph.

    Every graph is charged all of its calls; an executed call is counted for the first graph that
    contains it, so that executed calls add up over a batch.
    """
    counted: set[str] = set()
    runs = []
    for graph in plan.graphs:
        fresh = [n for n in graph.signatures if results[n].executed and n not in counted]
        counted.update(fresh)
        runs.append(_execution(plan, graph, question_id, results, pool, executed=len(fresh)))
    return runs


def _execution(
    plan: Plan,
    graph: PlannedGraph,
    question_id: str,
    results: Mapping[str, CallResult],
    pool: ModelPool,
    *,
    executed: int,
) -> Execution:
    completions = {name: results[name].completion for name in graph.signatures}
    failures = [results[name].failure for name in graph.signatures if results[name].failure]
    cards = {name: pool.card(plan.calls[name].model) for name in graph.signatures}
    tokens = {n: (c.prompt_tokens, c.output_tokens) for n, c in completions.items()}
    return Execution(
        trial_id=graph.trial_id,
        question_id=question_id,
        answer=completions[graph.signatures[-1]].text,
        failed=bool(failures),
        failure=failures[0] if failures else "",
        latency_seconds=_critical_path(plan, graph, results),
        calls=len(graph.signatures),
        executed_calls=executed,
        prompt_tokens=sum(prompt for prompt, _ in tokens.values()),
        output_tokens=sum(output for _, output in tokens.values()),
        flops=sum(call_flops(cards[name], *tokens[name]) for name in graph.signatures),
        usd=sum(call_usd(cards[name], *tokens[name]) for name in graph.signatures),
    )


def _critical_path(plan: Plan, graph: PlannedGraph, results: Mapping[str, CallResult]) -> float:
    """Seconds from the question to the sink's answer, of call latencies as their callers saw them.

    They include waiting for the model's server under the load of the moment.
    """
    finished: dict[str, float] = {}
    for name in graph.signatures:
        start = max((finished[source] for source in plan.calls[name].predecessors), default=0.0)
        finished[name] = start + results[name].completion.seconds
    return finished[graph.signatures[-1]]
