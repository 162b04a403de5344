-- title: One cell of the elapsed time as phases see it: how its time was shared, and what the device did that it waited for
-- uses: budget_cells, class_cells, device_cells
-- kept: table
-- column cell: number of the cell, number
-- column part: key of a class of the budget, else cpus (time on a CPU or waiting for one), requests or bytes (read and written), text
-- column amount: time, ns; of requests and bytes their number, number
SELECT cell, class AS part, elapsed_ns AS amount FROM class_cells
UNION ALL
SELECT cell, 'cpus', (user_parts + kernel_parts + recorder_parts + runnable_parts) / 16 FROM budget_cells
UNION ALL
SELECT cell, part, amount FROM device_cells WHERE part IN ('requests', 'bytes')
