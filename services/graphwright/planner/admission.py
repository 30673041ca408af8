"""What the door lets in: a specification becomes a problem, or is refused naming the field."""

from dataclasses import dataclass

from graphwright.converters.fields import InvalidField
from graphwright.graphs.cost import CostModel, DollarCost, FlopsCost, NoUnitError, maximum_nodes
from graphwright.planner.optimizers.port import Problem
from graphwright.planner.optimizers.registry import OPTIMIZERS
from graphwright.pools.pool import ModelPool, UnknownPool, load_pool
from graphwright.search.budget import BudgetMetric
from graphwright.search.spec import AgentKind, SearchSpec
from graphwright.tasks.catalog import UnknownTask, load_task
from graphwright.tasks.taskset import TaskSet


@dataclass(frozen=True)
class Admitted:
    """A specification with all that it names."""

    spec: SearchSpec
    task: TaskSet
    pool: ModelPool
    problem: Problem


def admit(spec: SearchSpec) -> Admitted:
    """Resolve a specification.

    Raises:
        InvalidField: it names something unknown, or asks for what cannot be.
    """
    task, pool = _task(spec), _pool(spec)
    if spec.optimizer not in OPTIMIZERS:
        known = ", ".join(sorted(OPTIMIZERS))
        raise InvalidField(
            "spec.optimizer", f"unknown optimizer {spec.optimizer!r}; known: {known}"
        )
    if spec.agent is not AgentKind.RULE:
        raise InvalidField("spec.agent", "no agent endpoint is configured; use the rule agent")
    if spec.batch > len(task.train):
        raise InvalidField(
            "spec.batch",
            f"{spec.batch} questions, but {task.name!r} has {len(task.train)} to train",
        )
    return Admitted(spec, task, pool, _problem(spec, task, pool))


def _task(spec: SearchSpec) -> TaskSet:
    try:
        return load_task(spec.task)
    except UnknownTask as error:
        raise InvalidField("spec.task", str(error)) from error


def _pool(spec: SearchSpec) -> ModelPool:
    try:
        return load_pool(spec.pool)
    except UnknownPool as error:
        raise InvalidField("spec.pool", str(error)) from error


def _problem(spec: SearchSpec, task: TaskSet, pool: ModelPool) -> Problem:
    cost, limit = _cost_and_limit(spec, task, pool)
    if limit < 1:
        raise InvalidField(
            "spec.budget.limit",
            f"no graph fits: one call of {cost.cheapest_model!r} takes 1 budget unit, "
            f"and {spec.budget.limit:g} {spec.budget.metric} are {limit:.3g} units",
        )
    return Problem(
        models=tuple(pool.models),
        cost=cost,
        limit=limit,
        max_nodes=maximum_nodes(cost, limit, spec.max_nodes),
        seed=spec.seed,
    )


def _cost_and_limit(spec: SearchSpec, task: TaskSet, pool: ModelPool) -> tuple[CostModel, float]:
    """The cost model of the budget's metric, and the limit in its units."""
    match spec.budget.metric:
        case BudgetMetric.FLOPS:
            return FlopsCost(pool.models, task.lengths), spec.budget.limit
        case BudgetMetric.USD:
            try:
                cost = DollarCost(pool.models, task.lengths)
            except NoUnitError as error:
                raise InvalidField("spec.budget.metric", f"no prices: {error}") from error
            return cost, spec.budget.limit / cost.unit
        case BudgetMetric.LATENCY:
            raise InvalidField("spec.budget.metric", "a budget in seconds is not supported")
