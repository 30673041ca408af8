"""The planner service: the gRPC front door, and the sessions that advance searches."""
