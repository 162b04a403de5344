-- title: A user stack as one line
-- uses: named_frames
-- filtered as: nothing
-- kept: table
-- column user_stack_id: stack, id
-- column path: functions, the innermost first, each called by the next, text
-- column own_path: of these the innermost and the program's own; if it has none, the innermost and the file of the outermost, text
-- column frames: functions in it, count
WITH placed AS (
    SELECT
        user_stack_id,
        depth,
        name || CASE WHEN times > 1 THEN ' ×' || CAST(times AS VARCHAR) ELSE '' END AS name,
        times,
        own OR depth = min(depth) OVER (PARTITION BY user_stack_id) AS kept,
        own,
        module,
        max(depth) OVER (PARTITION BY user_stack_id) AS last
    FROM named_frames
)
SELECT
    user_stack_id,
    string_agg(name, ' ← ' ORDER BY depth) AS path,
    string_agg(CASE WHEN kept THEN name END, ' ← ' ORDER BY depth)
        || CASE WHEN count(*) > 1 AND NOT max(own) THEN ' ← … (' || coalesce(max(CASE WHEN depth = last THEN module END), 'unknown') || ')' ELSE '' END
        AS own_path,
    CAST(sum(times) AS BIGINT) AS frames
FROM placed
GROUP BY user_stack_id
