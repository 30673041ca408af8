"""What a search is made of: specification, trials, objective, the ring's messages. No I/O."""
