"""graph.proto: roles, nodes, edges and graphs."""

from graphwright.contracts.v1 import graph_pb2 as pb
from graphwright.converters.fields import Labels, decoder, each
from graphwright.graphs.graph import Edge, Graph, Node, Role

ROLES = Labels({Role.ASSISTANT: pb.ROLE_ASSISTANT, Role.FUSER: pb.ROLE_FUSER})


def encode_node(node: Node) -> pb.Node:
    """Encode a node."""
    return pb.Node(role=ROLES.encode(node.role), model=node.model)


@decoder
def decode_node(message: pb.Node) -> Node:
    """Decode a node. Raises InvalidField."""
    return Node(role=ROLES.decode("role", message.role), model=message.model)


def encode_edge(edge: Edge) -> pb.Edge:
    """Encode an edge."""
    source, target = edge
    return pb.Edge(source=source, target=target)


def decode_edge(message: pb.Edge) -> Edge:
    """Decode an edge; the graph that holds it checks it."""
    return message.source, message.target


def encode_graph(graph: Graph) -> pb.Graph:
    """Encode a graph."""
    return pb.Graph(nodes=map(encode_node, graph.nodes), edges=map(encode_edge, graph.edges))


@decoder
def decode_graph(message: pb.Graph) -> Graph:
    """Decode a graph. Raises InvalidField."""
    return Graph(
        nodes=each("nodes", message.nodes, decode_node),
        edges=each("edges", message.edges, decode_edge),
    )
