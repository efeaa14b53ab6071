/* SPDX-License-Identifier: BSD-3-Clause */
/* tunables.h - the starter's times and sizes that somebody chose: each with its unit and reason
 *
 * Numbers that a protocol or the kernel fixes stay where they are used. Times that the user chooses
 * (the grace between TERM and KILL, the heartbeat) and the period of samples come with LAUNCH and
 * PLACE; their defaults are in launcher/tunables.h. */
#pragma once

/* ---- links ----------------------------------------------------------------------------------- */

/* Seconds to reach mprun by one of its addresses; starting a large job keeps mprun busy. */
#define CONNECT_SECONDS 30.0
/* The same, seconds, where the start channel can do instead. */
#define CONNECT_FALLBACK_SECONDS 10.0
/* Seconds for mprun to allow the start channel as the link. */
#define ASK_STDIO_SECONDS 30
/* Seconds to reach the parent host; without it this host stays linked to mprun. */
#define PARENT_CONNECT_SECONDS 5.0
/* Seconds that this end of an interrupted link waits longer than the upper one: the upper end gives
 * up first, and can still name the host that is lost. */
#define LINK_GRACE_EXTRA_SECONDS 8
/* Seconds for the child hosts to close their links when the step is over. */
#define CHILDREN_END_SECONDS 5.0
/* Seconds without the parent host before mprun itself is tried: most interruptions are short. */
#define LOST_PARENT_WAIT_SECONDS 5.0
/* Seconds over which hosts spread that try: many may have lost the same switch. */
#define LOST_PARENT_SPREAD_SECONDS 5.0
/* Seconds for one try to reach mprun without the parent host. */
#define LOST_PARENT_DIAL_SECONDS 10.0

/* ---- output and files ------------------------------------------------------------------------ */

/* Bytes in a pipe from which moving its pages into the link is faster than copying them. */
#define MOVE_BYTES (32 * 1024)
/* Bytes that are still read from a terminal when its ranks were killed: more than it can hold. */
#define TERMINAL_BYTES (128 * 1024)
/* Bytes that are copied at once from the cache of brought files. */
#define COPY_BYTES (256 * 1024)
/* Seconds after which a file of the cache without a writer's lock is removed: the lock comes a
 * moment after the file. */
#define CACHE_STALE_SECONDS 30

/* ---- the PMI server -------------------------------------------------------------------------- */

/* Seconds for an answer, or the end, of a server that has nothing else to do. */
#define PMI_ANSWER_SECONDS 10
/* Seconds after which it is started though no rank has asked for it: tools may attach. Most ranks
 * that take more memory than they may have done so by then, and it takes some, too. */
#define PMI_LATE_SECONDS 5
/* Ranks of a step that have their data sent by the PMIx library, which are those of all ranks. In
 * larger steps ranks wait for the library's shared memory: from 128 ranks on MPI starts earlier so.
 * (64, 128, 256 ranks on one host: 308, 741, 1,898 ms of CPU time if it sends; 351, 652, 1,333.)
 * Where nobody may ask at all, it pays to wait only when ranks would need much memory. */
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
 * own when it chooses whom to kill (oom_score_adj), above what mprun has: mprun's processes are
 * never half of a job's memory. */
#define RANK_OOM_SCORE 500
/* Seconds in which mprund is not asked again to hold a rank to its GPUs, when it could not. */
#define DEVICES_AGAIN_SECONDS 10.0
/* Suspended ranks are frozen when all have taken their STOP, or after so many seconds; seconds
 * between two looks. */
#define STOP_SECONDS      2.0
#define STOP_LOOK_SECONDS 0.02
/* Age up to which a look at what the ranks use serves the next reader, in seconds: half of the
 * shortest time between two looks of one reader. */
#define LOOK_SHARED_SECONDS (SAMPLE_SECONDS_MIN / 2)
/* CPU time that a rank has between SIGXCPU, at its limit, and its end, in seconds. */
#define CPU_LIMIT_KILL_SECONDS 5
/* Tries to take cores that other steps take at the same time; then the ranks are bound as if this
 * step were alone. */
#define CORE_TRIES 100
/* Tries to open the ledger of cores while other steps remove it, and nanoseconds between two. A
 * busy machine may hold up the removal; waiting for a stopped step's lock could take for ever. */
#define LEDGER_TRIES   500
#define LEDGER_WAIT_NS (1000 * 1000)
/* The first sample of memory after this part of the period: short steps have one, too. */
#define FIRST_SAMPLE_PART (1.0 / 10)
/* Seconds until sessions that ranks have made are looked for; twice as many until the next time, up
 * to the second. A manager that counts by sessions takes its samples every 10 to 120 s. */
#define SESSION_FIRST_LOOK_SECONDS 0.25
#define SESSION_LOOK_SECONDS       8.0

/* Seconds for the stack trace of a process, and processes of a rank that are looked at. */
#define STACK_TRACE_SECONDS   10.0
#define STACK_TRACE_PROCESSES 8

/* --stuck: looks at a rank in the time after which it counts as stuck, and the part of a core up to
 * which it counts as doing nothing: MPI libraries that block wake up now and then. */
#define STUCK_LOOKS    4
#define STUCK_CPU_PART 0.01

/* A limit of the user's processes below this is named when a rank fails. */
#define FEW_PROCESSES 1000
/* A limit of open files below this is named when a rank fails; 1024 are usual. */
#define FEW_OPEN_FILES 256

/* ---- the end of the step --------------------------------------------------------------------- */

/* Seconds between TERM and KILL for ranks whose mprun has gone. */
#define LOST_MPRUN_GRACE_SECONDS 2.0
/* Seconds after KILL for processes to end; those that do not (state D) are named and left. */
#define KILLED_SECONDS 5.0
/* Seconds between two rounds of KILL to what ranks left behind. */
#define LEFTOVERS_PERIOD_SECONDS 0.2
/* Seconds after KILL, or when it is told later, for the PMI server to end by itself. */
#define PMI_END_SECONDS 2.0
/* Seconds in all to remove cgroups and directories, which the kernel may hold a while longer. */
#define REMOVAL_SECONDS 3.0
/* Seconds before the second try; each further try waits twice as long. */
#define CLEANUP_FIRST_WAIT_SECONDS 0.004

/* ---- the keeper ------------------------------------------------------------------------------ */

/* Milliseconds for the cgroups of a dead worker to become empty. */
#define KEEPER_SWEEP_MS 4000
/* Seconds for the processes of a dead worker to end. */
#define KEEPER_KILL_SECONDS 5
/* Nanoseconds between two rounds of killing them. */
#define KEEPER_KILL_WAIT_NS (50 * 1000 * 1000)
/* Milliseconds that it stays after the leader of its session, for a manager that is busy to count
 * it; most end it within some milliseconds. */
#define LEADER_STAY_MS 2000

/* ---- the job's agents ------------------------------------------------------------------------ */

/* Seconds that the holder waits, at the end of the job, for the start clients of agents to end. */
#define HOLDER_END_SECONDS 5.0
