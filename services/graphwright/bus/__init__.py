"""The message bus that carries the ring: a port and its NATS JetStream adapter."""
