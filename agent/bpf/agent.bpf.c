/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/* The programs of the agent: each header has those of a layer. */
#include "waits.h"
#include "requests.h"
#include "syncs.h"
#include "calls.h"
#include "cache.h"
#include "throttled.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
