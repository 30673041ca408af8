"""Language models: a port and its Triton adapter."""
