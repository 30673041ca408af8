"""Domain models to protobuf messages and back: one explicit pair of functions per message."""
