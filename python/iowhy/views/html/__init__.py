"""Results as one HTML file: readable without scripts, with charts if there are any; nothing is fetched."""
