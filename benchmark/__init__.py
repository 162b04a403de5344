"""A labelled set of recordings and texts, a scorer for whatever diagnoses them, and iowhy's own result (`make benchmark`)."""
