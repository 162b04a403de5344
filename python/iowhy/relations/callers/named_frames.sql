-- title: A frame of a user stack, with the name that it is shown by
-- uses: modules, user_stacks
-- filtered as: nothing
-- kept: table
-- What has no name of its own has its module's and the address in it; frames that are in no module have only an address.
-- A function that calls itself is one row, with how often it is there.
-- column user_stack_id: stack, id
-- column depth: place in the stack, 0 the innermost; of what calls itself the innermost, number
-- column name: function, or what it is known by, text
-- column place: source file and line, without directories; NULL if not known, text
-- column source: source file, as the compiler was given it; NULL if not known, text
-- column line: line of the source file; NULL if not known, number
-- column module: file or memory that it is in, without directories; NULL if it is in none, text
-- column named: it has a function's name, bool
-- column own: it is the program's, or its script's: not of a system's library, an interpreter, or a thread's start, bool
-- column times: frames in a row of that name, count
WITH known AS (
    SELECT
        module_id,
        regexp_replace(max(path), '.*/', '') AS module,
        regexp_replace(
            max(path),
            '^(/usr|/usr/local)?/lib(32|64|x32|exec)?/.*|.*/(lib)?(python3|node|nodejs|ruby|perl|php|php-fpm|php-cgi|jvm|coreclr)[-.0-9]*([.]so.*)?$',
            ''
        ) = '' OR max(path) LIKE '[%' AS foreign_code
    FROM modules
    GROUP BY module_id
), told AS (
    SELECT
        f.user_stack_id,
        f.depth,
        m.module,
        f.function IS NOT NULL AS named,
        NOT coalesce(m.foreign_code, false) AND coalesce(f.function, '') NOT IN (
            '_start', '__libc_start_main', '__libc_start_main_impl', '__libc_start_call_main', 'start_thread', 'clone', 'clone3',
            '__clone', '__clone3', '_init'
        ) AS own,
        coalesce(
            f.function,
            coalesce(nullif(m.module, ''), 'unknown') || '+0x' || lower(hex(f.offset_bytes))
        ) AS name,
        f.file AS source,
        CASE WHEN f.line > 0 THEN f.line END AS line,
        regexp_replace(f.file, '.*/', '') || CASE WHEN f.line > 0 THEN ':' || CAST(f.line AS VARCHAR) ELSE '' END
            AS place
    FROM user_stacks f
    LEFT JOIN known m ON m.module_id = f.module_id
), begun AS (
    SELECT
        *,
        CASE
            WHEN lag(name) OVER (PARTITION BY user_stack_id ORDER BY depth) IS DISTINCT FROM name THEN 1
            ELSE 0
        END AS first
    FROM told
), grouped AS (
    SELECT *, sum(first) OVER (PARTITION BY user_stack_id ORDER BY depth ROWS UNBOUNDED PRECEDING) AS run
    FROM begun
)
SELECT
    user_stack_id,
    min(depth) AS depth,
    max(name) AS name,
    max(CASE WHEN first = 1 THEN place END) AS place,
    max(CASE WHEN first = 1 THEN source END) AS source,
    max(CASE WHEN first = 1 THEN line END) AS line,
    max(module) AS module,
    max(named) AS named,
    max(own) AS own,
    count(*) AS times
FROM grouped
GROUP BY user_stack_id, run
