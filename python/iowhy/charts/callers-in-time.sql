-- title: Callers
-- question: Whose code made the calls, waited and computed in the chosen time, as far as samples say?
-- report: callers
-- draws: narrowed
-- place: 253
-- needs: stack_samples
-- heaviest: 40 by sum(total_ns) DESC
-- The forty paths with most time, by when their stacks were taken.
-- column path: functions, the innermost first, each called by the next, text
-- column samples: stacks that were taken of it, count
-- column total_ns: time that they represent, ns
-- column calls: calls that they represent, count
-- column transferred_bytes: bytes that these moved, bytes
SELECT
    s.ts_ns, coalesce(p.path, 'stack not read') AS path, 1 AS samples, s.weight_ns AS total_ns, s.calls,
    s.transferred_bytes
FROM stack_samples s
LEFT JOIN user_paths p ON p.user_stack_id = s.user_stack_id
