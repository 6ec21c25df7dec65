/* SPDX-License-Identifier: BSD-2-Clause */
/* Names (stable, for programs) and meanings of the losses. */
#include "trace/loss.h"

const struct loss_text loss_texts[LOSS_CNT] = {
	[AS_LOSS_TALLY_FULL] = { "tally_full",
				 "allocations not counted: the table of sums was full" },
	[AS_LOSS_STACK_RING_FULL] = { "stack_ring_full",
				      "stacks not sent at their first hit: the buffer was full; "
				      "sent at a later one or shown as [lost]" },
	[AS_LOSS_NO_SLOT] = { "no_slot", "stacks not walked: too many threads were preempted in "
					 "the probe; counted as [lost]" },
	[AS_LOSS_PROC_RING_FULL] = { "proc_ring_full",
				     "names of processes, at first sight, or of threads, at their "
				     "end, not sent: the buffer was full" },
	[AS_LOSS_FILE_RING_FULL] = { "file_ring_full",
				     "mapped files not reported: their allocators may be unprobed, "
				     "their functions unnamed" },
	[AS_LOSS_NO_THREAD_STATE] = { "no_thread_state",
				      "no memory to remember a call that may jump on to another: "
				      "that one may be counted twice" },
	[AS_LOSS_SIGNAL_BLOCKED] = { "signal_blocked",
				     "a file was mapped by a thread that blocks all signals: its "
				     "first allocations may be missed" },
	[AS_LOSS_CALLER_UNREADABLE] = { "caller_unreadable",
					"the return address could not be read: the stack ends at "
					"the allocator" },
	[AS_LOSS_STALE_MAPPING] = { "stale_mapping",
				    "stacks walked by mappings that had changed while the address "
				    "space was locked: frames may be wrong" },
	[AS_LOSS_BLOCKS_FULL] = { "blocks_full",
				  "blocks not followed, as --max-live was reached: neither live "
				  "nor freed" },
	[AS_LOSS_MISSED_FREE] = { "missed_free",
				  "blocks whose address was handed out again though no free was "
				  "seen: counted as freed then" },
	[AS_LOSS_ROWS_FULL] = { "rows_full",
				"allocations without a row of their own, as there "
				"were more stacks than --max-rows: counted as [lost]" },
	[AS_LOSS_OPEN_CALLS] = { "open_calls",
				 "allocation calls whose return was not recognized: their blocks "
				 "are not followed" },
	[AS_LOSS_STACK_COPY_LIMITED] = { "stack_copy_limited",
					 "stacks that end early, in a file that was new: too many "
					 "others were to be finished when it has unwind rows" },
	[AS_LOSS_EVENT_RING_FULL] = { "event_ring_full",
				      "events of blocks not sent: the buffer was full; the sums "
				      "have them" },
	[AS_LOSS_NOT_FOLLOWED] = { "not_followed",
				   "children not counted: too many processes were followed" },
	[AS_LOSS_BREAK_UNKNOWN] = { "break_unknown",
				    "growths of the break not counted: no memory to remember where "
				    "it was" },
	[AS_LOSS_RANGE_RING_FULL] = { "range_ring_full",
				      "mappings or unmappings not followed: the buffer was full; "
				      "what is called live may be gone" },
	[AS_LOSS_HEAPS_FULL] = { "heaps_full",
				 "stacks and frees of processes beyond those whose peak can be "
				 "followed at once: they have none" },
	[LOSS_LATE_ATTACH] = { "late_attach", "files with an allocator that were probed after "
					      "their process could use them" },
	[LOSS_ATTACH_FAILED] = { "attach_failed", "probes that could not be placed" },
	[LOSS_FILE_GONE] = { "file_gone", "mapped files that were gone before they could be "
					  "opened: functions in them have no names" },
	[LOSS_STACK_UNKNOWN] = { "stack_unknown",
				 "allocations whose stack never arrived; counted as [lost]" },
	[LOSS_MEMORY] = { "out_of_memory",
			  "records dropped because allocsnoop itself was out of memory" },
	[LOSS_FILE_32BIT] = { "file_32bit",
			      "32-bit files mapped: the processes that run them are not traced" },
	[LOSS_TABLE_MEMORY] = { "table_memory", "files without unwind rows, as --max-table-memory "
						"was reached: stacks may end at them" },
	[LOSS_STACKS_AGED] = { "stacks_aged",
			       "stacks given up, as --max-memory was reached and they "
			       "were not hit for longest: counted as [aged out]" },
	[LOSS_NAMES_MERGED] = { "names_merged", "ended processes counted under [other], as there "
						"were too many names" },
	[LOSS_THREADS_MERGED] = { "threads_merged", "rows whose thread isn't known any more, as "
						    "--max-memory was reached" },
	[LOSS_LINES_CUT] = { "lines_cut", "files with more debugging information than may be read "
					  "of them: source lines and inlined functions are "
					  "missing" },
	[LOSS_RANGES_CUT] = { "ranges_cut", "files whose allocator is too scattered: its calls to "
					    "itself may be counted" },
};
