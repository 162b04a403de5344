"""Recordings for agents, by the Model Context Protocol: the server, its tools, and how much they may take."""
