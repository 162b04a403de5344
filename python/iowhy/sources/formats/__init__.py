"""One module per foreign format. A new format is a new file here: nothing lists them."""
