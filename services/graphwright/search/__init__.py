"""What a search is made of, free of I/O: specification, trials, objective and the ring's messages."""
