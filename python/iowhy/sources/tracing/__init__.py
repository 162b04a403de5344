"""What the formats of tracing tools share: chunks of lines, a work space for SQL, kernel events."""
