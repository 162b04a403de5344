"""One module per cause. A new cause is a new file here: nothing lists them."""
