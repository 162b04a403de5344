// SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0)
/*
 * The recorder's programs: one header per layer of the stack, all of this folder (build/sources.rs makes sensors.h).
 * All attach to tracepoints (tp_btf), none to functions of the kernel (statement.h: to those of databases, where asked
 * for); one whose tracepoint the running kernel lacks is not loaded (src/kernel/choice.rs).
 */
#include "sensors.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
