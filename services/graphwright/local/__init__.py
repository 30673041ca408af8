"""Servers and services on one machine: started, watched and ended together or one by one."""
