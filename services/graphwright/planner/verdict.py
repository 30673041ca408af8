"""The end of a search: the best graph and every single model on the test questions."""

from collections.abc import Mapping, Sequence

from graphwright.graphs.graph import Graph
from graphwright.graphs.signature import graph_hash
from graphwright.planner.admission import Admitted
from graphwright.planner.environment import Environment
from graphwright.planner.evaluation import Evaluation, summarize
from graphwright.search.search import SearchResult, SingleModelScore
from graphwright.search.trial import Usage
from graphwright.tasks.taskset import Split

FOUND = "found"


async def measure_result(
    environment: Environment, admitted: Admitted, graph: Graph, validation_score: float
) -> tuple[SearchResult, Sequence[Usage]]:
    """The result of a search, and what measuring it consumed.

    Single models are measured beside the graph, on the same questions, so that the comparison is
    paired.
    """
    singles = {f"single.{card.name}": Graph.single(card.name) for card in admitted.pool.models}
    questions = admitted.task.questions(Split.TEST)
    runs = await environment.evaluate(
        Split.TEST, {FOUND: graph, **singles}, questions, epoch=Split.TEST
    )
    evaluations = {name: summarize(graded) for name, graded in runs.items()}
    found = evaluations[FOUND]
    result = SearchResult(
        graph=graph,
        graph_hash=graph_hash(graph),
        budget_units=admitted.problem.units(graph),
        validation_score=validation_score,
        test_score=found.score,
        test_questions=len(questions),
        latency_seconds=found.latency_seconds,
        single_models=tuple(_single(admitted, n, g, evaluations) for n, g in singles.items()),
    )
    return result, [evaluation.usage for evaluation in evaluations.values()]


def _single(
    admitted: Admitted, name: str, graph: Graph, evaluations: Mapping[str, Evaluation]
) -> SingleModelScore:
    return SingleModelScore(
        model=graph.nodes[0].model,
        test_score=evaluations[name].score,
        budget_units=admitted.problem.units(graph),
        within_budget=admitted.problem.fits(graph),
    )
