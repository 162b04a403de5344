-- title: What a file of a database is
-- uses: database_files, named_files
-- filtered as: nothing
-- By the server's catalogue (`iowhy run --statements`), or what a MongoDB or RocksDB keeps next to its files, else by their names.
-- column path: path of the file, text
-- column object: table, index or log, text
WITH every_file AS (
    SELECT DISTINCT path, regexp_replace(regexp_replace(path, '[.][0-9]+$', ''), '_(fsm|vm|init)$', '') AS first_path
    FROM named_files
    WHERE path LIKE '/%' AND kind = 'file'
), catalogue AS (
    SELECT path, max(object) AS object FROM database_files GROUP BY path
), called AS (
    SELECT
        e.path,
        coalesce(
            c.object,
            CASE
                WHEN e.path LIKE '%/pg_wal/%' THEN 'write-ahead log'
                WHEN e.path LIKE '%/pgsql_tmp/%' THEN 'temporary data'
                WHEN e.path LIKE '%/pg_xact/%' THEN 'states of transactions'
                WHEN e.path LIKE '%/ib_logfile%' OR e.path LIKE '%/#innodb_redo/%' THEN 'redo log'
                WHEN e.path LIKE '%/ibdata1' THEN 'system tablespace'
                WHEN e.path LIKE '%/#sql%' THEN 'temporary table'
                WHEN e.path LIKE '%/undo00_' OR e.path LIKE '%/undo_00_' THEN 'undo log'
                WHEN e.path LIKE '%.ibd' THEN regexp_replace(e.path, '^.*/([^/]+)/([^/]+)[.]ibd$', '\1.\2')
                WHEN e.path LIKE '%.wt' AND e.path LIKE '%/collection-%' THEN 'collection'
                WHEN e.path LIKE '%.wt' AND e.path LIKE '%/index-%' THEN 'index'
                WHEN e.path LIKE '%/WiredTigerLog.%' OR e.path LIKE '%/WiredTigerPreplog.%' THEN 'journal'
                WHEN e.path LIKE '%/WiredTiger.wt' OR e.path LIKE '%/_mdb_catalog.wt' THEN 'catalogue of collections'
                WHEN e.path LIKE '%/WiredTigerHS.wt' THEN 'older versions of documents'
                WHEN e.path LIKE '%.sst' THEN 'sorted table'
                WHEN e.path LIKE '%/MANIFEST-______' THEN 'list of sorted tables'
                WHEN regexp_matches(e.path, '/[0-9]{6}[.]blob$') THEN 'large values'
                WHEN e.path LIKE '%/OPTIONS-______' THEN 'settings'
                WHEN regexp_matches(e.path, '/[0-9]{6}[.]log$') THEN 'write-ahead log'
                WHEN e.path LIKE '%.MYD' THEN regexp_replace(e.path, '^.*/([^/]+)/([^/]+)[.]MYD$', '\1.\2')
                WHEN e.path LIKE '%.MYI' THEN regexp_replace(e.path, '^.*/([^/]+)/([^/]+)[.]MYI$', 'indexes of \1.\2')
                WHEN e.path LIKE '%-journal' THEN 'rollback journal'
                WHEN e.path LIKE '%-wal' THEN 'write-ahead log'
            END
        ) AS object
    FROM every_file e
    LEFT JOIN catalogue c ON c.path = e.first_path
)
SELECT path, object FROM called WHERE object IS NOT NULL
