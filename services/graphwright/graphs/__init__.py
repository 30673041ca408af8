"""The pure mathematics of collaboration graphs; imports nothing of the rest of the system.

`graph` and `signature` say what a graph is and when two are the same; `cost` prices it;
`distribution` and `decoding` are the probabilistic graph that a search optimises; `counting`
sizes the search space.
"""
