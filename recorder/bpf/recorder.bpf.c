// SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0)
/*
 * The recorder's programs: one header per layer of the stack. All attach to tracepoints (tp_btf), none to
 * functions; one whose tracepoint the running kernel lacks is not loaded (src/sensors.rs).
 */
#include "kernel.h"
#include "event.h"
#include "state.h"
#include "thread.h"
#include "file.h"
#include "pagecache.h"
#include "writeback.h"
#include "journal.h"
#include "syscall.h"
#include "sched.h"
#include "block.h"
#include "alloc.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
