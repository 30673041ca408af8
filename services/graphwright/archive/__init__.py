"""The archive: searches, trials, leases and finished calls; a port and its MongoDB adapter."""
