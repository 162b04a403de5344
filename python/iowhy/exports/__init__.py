"""A recording in the forms of other viewers: Perfetto's traces, and stacks for flame graphs."""
