-- title: A statement's text
-- uses: statements
-- Both a server's views and probes may have noted it.
-- column statement_id: statement, id
-- column text: without its literals, text
-- column database: database of the session that ran it first, text
-- column server: name and version of the server, text
-- column memory_bytes: what a session may take for one sort or hash, bytes
SELECT
    statement_id,
    max(text) AS text,
    max(database) AS database,
    max(server) AS server,
    max(memory_bytes) AS memory_bytes
FROM statements
GROUP BY statement_id
