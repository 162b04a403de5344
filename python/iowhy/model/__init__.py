"""What would help: a recorded run is executed again in a model, in which one thing answers by another rule."""
