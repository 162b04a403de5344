"""A recording looked at while it grows, or moment by moment: what a live view shows, by the SQL of the reports."""
