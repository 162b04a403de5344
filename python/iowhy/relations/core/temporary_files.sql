-- title: A file that is temporary by its name
-- uses: files
-- filtered as: nothing
-- Of PostgreSQL, MySQL and MariaDB, SQLite, DuckDB and sort; also one made with O_TMPFILE, which has no name.
-- column dev: filesystem, id
-- column ino: inode, id
SELECT DISTINCT dev, ino
FROM files
WHERE kind = 'file' AND (
    path LIKE '%/pgsql_tmp/%' OR path LIKE '%/#sql%' OR path LIKE '%/#innodb_temp/%' OR path LIKE '%/etilqs\_%' ESCAPE '\'
    OR path LIKE '%/duckdb\_temp\_%' ESCAPE '\' OR path LIKE '%/sort______'
    OR path LIKE concat('%/#', CAST(coalesce(inode, ino) AS VARCHAR))
)
