"""Graphs as Mermaid, DOT, JSON, and as text for a terminal."""

from collections.abc import Callable, Mapping

from graphwright.graphs.graph import Graph, Role

SHAPES: Mapping[Role, tuple[str, str]] = {Role.ASSISTANT: ("[", "]"), Role.FUSER: ("{{", "}}")}


def as_json(graph: Graph) -> str:
    """The graph as a JSON document."""
    return graph.model_dump_json(indent=2)


def as_mermaid(graph: Graph) -> str:
    """A Mermaid flowchart, from the question to the answer."""
    lines = ["flowchart LR", "  q([question])", "  a([answer])"]
    for index, node in enumerate(graph.nodes):
        left, right = SHAPES[node.role]
        lines.append(f'  n{index}{left}"{node.role}<br/>{node.model}"{right}')
    for index in range(len(graph.nodes)):
        if not graph.predecessors(index):
            lines.append(f"  q --> n{index}")
    lines += [f"  n{source} --> n{target}" for source, target in graph.edges]
    lines.append(f"  n{graph.sink} --> a")
    return "\n".join(lines)


def as_dot(graph: Graph) -> str:
    """A Graphviz digraph."""
    lines = ["digraph collaboration {", "  rankdir=LR;"]
    for index, node in enumerate(graph.nodes):
        shape = "box" if node.role is Role.ASSISTANT else "hexagon"
        lines.append(f'  n{index} [shape={shape}, label="{node.role}\\n{node.model}"];')
    lines += [f"  n{source} -> n{target};" for source, target in graph.edges]
    return "\n".join([*lines, "}"])


def as_text(graph: Graph) -> str:
    """An indented tree from the sink to the roots; a node that is read twice is drawn once."""
    lines: list[str] = []
    drawn: set[int] = set()

    def draw(index: int, lead: str, branch: str) -> None:
        node = graph.nodes[index]
        again = index in drawn
        lines.append(
            f"{lead}{branch}{node.role} {node.model} #{index}{' (above)' if again else ''}"
        )
        drawn.add(index)
        sources = () if again else graph.predecessors(index)
        inner = lead + {"": "", "├─ ": "│  ", "└─ ": "   "}[branch]
        for position, source in enumerate(sources):
            draw(source, inner, "└─ " if position == len(sources) - 1 else "├─ ")

    draw(graph.sink, "", "")
    return "\n".join(lines)


FORMATS: Mapping[str, Callable[[Graph], str]] = {
    "json": as_json,
    "mermaid": as_mermaid,
    "dot": as_dot,
    "text": as_text,
}
