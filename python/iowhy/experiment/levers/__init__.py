"""One module per lever; see iowhy.experiment.lever for what each provides."""
