-- title: A user stack as one line
-- uses: named_frames
-- filtered as: nothing
-- kept: table
-- column user_stack_id: stack, id
-- column path: functions, the innermost first, each called by the next, text
-- column frames: functions in it, count
SELECT
    user_stack_id,
    string_agg(name || CASE WHEN times > 1 THEN ' ×' || CAST(times AS VARCHAR) ELSE '' END, ' ← ' ORDER BY depth)
        AS path,
    CAST(sum(times) AS BIGINT) AS frames
FROM named_frames
GROUP BY user_stack_id
