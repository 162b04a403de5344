-- title: The elapsed time of a recording by the classes of its time budget
-- column class: what the time was spent on, text
-- column elapsed_part: its part, in the budget's own unit, number
SELECT class, sum(elapsed_part) AS elapsed_part
FROM budget_pieces
GROUP BY class
