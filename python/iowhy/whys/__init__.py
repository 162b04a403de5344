"""From a recording to the reason why it was slow: budget, facts, causes, verdict."""
