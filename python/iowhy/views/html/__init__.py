"""Results as one HTML file: readable without scripts, with charts where there are any; nothing is fetched."""
