"""Every metric of every service, named once: `graphwright_<noun>_<unit>[_total]`.

Labels take few values: states, outcomes, names of models, graders and RPC methods; never the id of
a search, batch or trial. Label values that are known beforehand are initialised, so that a rate
over a counter that has not counted yet is zero and not absent.
"""

from itertools import product

from prometheus_client import Counter, Gauge, Histogram

from graphwright.search.search import SearchState
from graphwright.search.trial import Stage, TrialStatus

# Pocket models answer in milliseconds, large ones in minutes: the buckets that users of serving
# systems know from 0.3 s on, continued downwards to 1 ms.
_SMALL_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2)
_LLM_SECONDS = (0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480)
CALL_BUCKETS = (*_SMALL_SECONDS, *_LLM_SECONDS, 960, 1920, 7680)
ROUND_BUCKETS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200)
REQUEST_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)

# --- planner ------------------------------------------------------------------------------------
SEARCHES = Counter("graphwright_searches_total", "Searches that entered a state.", ["state"])
SEARCHES_RUNNING = Gauge("graphwright_searches_running", "Searches this planner holds.")
ROUNDS = Counter("graphwright_rounds_total", "Rounds of evaluation completed.")
ROUND_SECONDS = Histogram(
    "graphwright_round_seconds",
    "From suggesting candidates to the checkpoint.",
    buckets=ROUND_BUCKETS,
)
TRIALS = Counter("graphwright_trials_total", "Trials completed.", ["status", "stage"])
LEASES_LOST = Counter("graphwright_leases_lost_total", "Searches lost to another planner.")

# --- executor -----------------------------------------------------------------------------------
BATCHES = Counter("graphwright_batches_total", "Batches of graphs executed.", ["outcome"])
LLM_CALLS = Counter(
    "graphwright_llm_calls_total",
    "Calls that graphs asked for: executed, cached, shared with an equal call, or failed.",
    ["model", "outcome"],
)
LLM_CALL_SECONDS = Histogram(
    "graphwright_llm_call_seconds",
    "Wall time of an executed call.",
    ["model"],
    buckets=CALL_BUCKETS,
)
LLM_TOKENS = Counter(
    "graphwright_llm_tokens_total", "Tokens of executed calls.", ["model", "direction"]
)
LLM_CALLS_IN_FLIGHT = Gauge("graphwright_llm_calls_in_flight", "Calls awaiting a model.", ["model"])
GRAPH_LATENCY_SECONDS = Histogram(
    "graphwright_graph_latency_seconds",
    "Critical path of a graph's calls on one question.",
    buckets=CALL_BUCKETS,
)

# --- evaluator ----------------------------------------------------------------------------------
GRADES = Counter("graphwright_grades_total", "Answers graded.", ["grader", "outcome"])
GRADING_SECONDS = Histogram(
    "graphwright_grading_seconds",
    "Wall time of grading one answer.",
    ["grader"],
    buckets=REQUEST_BUCKETS,
)

# --- adapters and front door --------------------------------------------------------------------
BUS_MESSAGES = Counter(
    "graphwright_bus_messages_total", "Messages published and handled.", ["kind", "outcome"]
)
ARCHIVE_OPERATION_SECONDS = Histogram(
    "graphwright_archive_operation_seconds",
    "Wall time of an archive operation.",
    ["operation"],
    buckets=REQUEST_BUCKETS,
)
CALL_CACHE_ERRORS = Counter(
    "graphwright_call_cache_errors_total", "Look-ups and stores that the call cache gave up."
)
RPC_REQUESTS = Counter("graphwright_rpc_requests_total", "gRPC requests.", ["method", "code"])
RPC_SECONDS = Histogram(
    "graphwright_rpc_seconds", "Wall time of a gRPC request.", ["method"], buckets=REQUEST_BUCKETS
)

CALL_OUTCOMES = ("executed", "cached", "shared", "failed")
TOKEN_DIRECTIONS = ("input", "output")
GRADE_OUTCOMES = ("right", "wrong", "partial")


def _initialise() -> None:
    for state in SearchState:
        SEARCHES.labels(state=state)
    for status, stage in product(TrialStatus, Stage):
        TRIALS.labels(status=status, stage=stage)


def count_message(kind: str, outcome: str) -> None:
    """Count what became of a message on the bus."""
    BUS_MESSAGES.labels(kind, outcome).inc()


def initialise_model(model: str) -> None:
    """Start a model's counters at zero; to be called for every model of a pool."""
    for outcome in CALL_OUTCOMES:
        LLM_CALLS.labels(model=model, outcome=outcome)
    for direction in TOKEN_DIRECTIONS:
        LLM_TOKENS.labels(model=model, direction=direction)
    LLM_CALL_SECONDS.labels(model=model)
    LLM_CALLS_IN_FLIGHT.labels(model=model)


_initialise()
