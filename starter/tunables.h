/* SPDX-License-Identifier: BSD-3-Clause */
/* tunables.h - the starter's times and sizes that we chose: each with its unit and reason
 *
 * Numbers that a protocol or the kernel fixes stay where they are used. Times that the user chooses
 * (the grace between TERM and KILL, the heartbeat) and the period of samples come with LAUNCH and
 * PLACE; their defaults are in launcher/tunables.h. */
#pragma once

/* ---- links ----------------------------------------------------------------------------------- */

/* Seconds to reach mprun by one of its addresses; starting a large job keeps mprun busy. */
#define CONNECT_SECONDS 30.0
/* Seconds for the same where the start channel can be the link instead. */
#define CONNECT_FALLBACK_SECONDS 10.0
/* Seconds for mprun to allow the start channel as the link. */
#define ASK_STDIO_SECONDS 30
/* Seconds to reach the parent host; without it this host stays linked to mprun. */
#define PARENT_CONNECT_SECONDS 5.0
/* Seconds that this end of an interrupted link waits longer than the upper end: the upper end gives
 * up first, and can still name the host that is lost. */
#define LINK_GRACE_EXTRA_SECONDS 8
/* Seconds for the child hosts to close their links when the step is over. */
#define CHILDREN_END_SECONDS 5.0
/* Seconds without the parent host before this host tries mprun: most interruptions are short. */
#define LOST_PARENT_WAIT_SECONDS 5.0
/* Seconds over which hosts spread these tries: many may have lost the same switch. */
#define LOST_PARENT_SPREAD_SECONDS 5.0
/* Seconds for one try to reach mprun without the parent host. */
#define LOST_PARENT_DIAL_SECONDS 10.0

/* ---- output and files ------------------------------------------------------------------------ */

/* Bytes in a pipe from which on moving its pages into the link is faster than copying them. */
#define MOVE_BYTES (32 * 1024)
/* Bytes still read from a terminal whose ranks were killed: more than a terminal can hold. */
#define TERMINAL_BYTES (128 * 1024)
/* Bytes copied at once from the cache of brought files. */
#define COPY_BYTES (256 * 1024)
/* Seconds after which a file of the cache without a writer's lock is removed: a writer locks its
 * file a moment after making it. */
#define CACHE_STALE_SECONDS 30

/* ---- the PMI server -------------------------------------------------------------------------- */

/* Seconds for an answer, or the end, of a server that has nothing else to do. */
#define PMI_ANSWER_SECONDS 10
/* Seconds after which the server starts although no rank has asked for it: tools may attach. Most
 * ranks that use more memory than they may have done so by then, and the server needs some, too. */
#define PMI_LATE_SECONDS 5
/* Ranks of a step up to which the PMIx library sends ranks the data of all ranks. In larger steps
 * ranks wait for the library's shared memory: from 128 ranks on MPI starts earlier so. (64, 128,
 * 256 ranks on one host: 308, 741, 1,898 ms of CPU time if it sends; 351, 652, 1,333 if not.) If
 * perhaps no rank asks, waiting pays only when ranks would need much memory. */
#define PMIX_SENDS_RANKS          64
#define PMIX_SENDS_RANKS_IF_ASKED 256
/* Seconds for its start on a busy machine. */
#define PMI_READY_SECONDS 60
/* Seconds for a place in its queue of connections, where thousands of ranks may wait. */
#define SIMPLE_PMI_CONNECT_SECONDS 2
/* Bytes of free space that the PMIx library needs for its files. */
#define PMI_SPACE_NEEDED (1 << 20)

/* ---- ranks ----------------------------------------------------------------------------------- */

/* Ranks that are started before the event loop serves everything else. */
#define RANK_STARTS_PER_TURN 8
/* Thousandths of the memory of their cgroup, or of the machine, that the kernel adds to each rank's
 * own memory when it chooses a process to kill (oom_score_adj), above mprun's value: mprun's
 * processes never have half of a job's memory. */
#define RANK_OOM_SCORE 500
/* Seconds without another request after mprund could not hold a rank to its GPUs. */
#define DEVICES_AGAIN_SECONDS 10.0
/* Seconds after which suspended ranks are frozen at the latest; earlier when all have taken their
 * STOP. Seconds between two looks. */
#define STOP_SECONDS      2.0
#define STOP_LOOK_SECONDS 0.02
/* Seconds for which a look at what the ranks use serves the next reader, too: half of the shortest
 * time between two looks of one reader. */
#define LOOK_SHARED_SECONDS (SAMPLE_SECONDS_MIN / 2)
/* Seconds of CPU time that a rank has between SIGXCPU, at its limit, and its end. */
#define CPU_LIMIT_KILL_SECONDS 5
/* Tries to take cores while other steps take the same; then the step binds its ranks as if it were
 * alone. */
#define CORE_TRIES 100
/* Tries to open the ledger of cores while other steps remove it, and nanoseconds between two tries.
 * A busy machine may delay the removal; a stopped step may keep its lock for ever. */
#define LEDGER_TRIES   500
#define LEDGER_WAIT_NS (1000 * 1000)
/* Part of the period after which the first sample of memory comes: short steps have one, too. */
#define FIRST_SAMPLE_PART (1.0 / 10)
/* Seconds until the first look for sessions that ranks have made, and longest time between two
 * looks; each wait is twice the one before. Such managers take a sample every 10 to 120 s. */
#define SESSION_FIRST_LOOK_SECONDS 0.25
#define SESSION_LOOK_SECONDS       8.0

/* Seconds for the stack trace of a process, and largest number of traced processes of a rank. */
#define STACK_TRACE_SECONDS   10.0
#define STACK_TRACE_PROCESSES 8

/* --stuck: looks at a rank in the time after which it counts as stuck, and the part of a core up to
 * which it counts as doing nothing: MPI libraries that block wake up now and then. */
#define STUCK_LOOKS    4
#define STUCK_CPU_PART 0.01

/* A failed rank's message names a limit of the user's processes below this. */
#define FEW_PROCESSES 1000
/* A failed rank's message names a limit of open files below this; 1024 are usual. */
#define FEW_OPEN_FILES 256

/* ---- the end of the step --------------------------------------------------------------------- */

/* Seconds between TERM and KILL for ranks whose mprun has gone. */
#define LOST_MPRUN_GRACE_SECONDS 2.0
/* Seconds after KILL for processes to end; those that do not (state D) are named and left alone. */
#define KILLED_SECONDS 5.0
/* Seconds between two rounds of KILL to what ranks left behind. */
#define LEFTOVERS_PERIOD_SECONDS 0.2
/* Seconds for the PMI server to end by itself, after KILL or PMI_END, whichever is later. */
#define PMI_END_SECONDS 2.0
/* Seconds in all to remove cgroups and directories, which the kernel may hold a while longer. */
#define REMOVAL_SECONDS 3.0
/* Seconds before the second try; each further wait is twice as long. */
#define CLEANUP_FIRST_WAIT_SECONDS 0.004

/* ---- the keeper ------------------------------------------------------------------------------ */

/* Milliseconds for the cgroups of a dead worker to become empty. */
#define KEEPER_SWEEP_MS 4000
/* Seconds for the processes of a dead worker to end. */
#define KEEPER_KILL_SECONDS 5
/* Nanoseconds between two rounds of killing them. */
#define KEEPER_KILL_WAIT_NS (50 * 1000 * 1000)
/* Milliseconds that the keeper stays after the leader of its session has ended, until a busy
 * manager has counted and killed it; most managers need some milliseconds. */
#define LEADER_STAY_MS 2000

/* ---- the job's agents ------------------------------------------------------------------------ */

/* Seconds that the holder waits, at the end of the job, for the start clients of agents to end. */
#define HOLDER_END_SECONDS 5.0
