/* SPDX-License-Identifier: BSD-3-Clause */
/* tunables.h - the launcher's times and bounds: one place, each with its unit and its reason
 *
 * Defaults of options that are no times are in cmdline/option-defaults.c. */
#pragma once

/* Seconds, where users do not choose others: --start-timeout, --kill-grace (between TERM and KILL),
 * --link-grace (a switch restarts in that time), --heartbeat. --help and mprun(1) name them, too.
 */
#define START_TIMEOUT_SECONDS 120
#define KILL_GRACE_SECONDS    10
#define LINK_GRACE_SECONDS    60
#define HEARTBEAT_SECONDS     6

/* Seconds between two samples of the ranks' memory, for reports. */
#define SAMPLE_SECONDS 2

/* Seconds that a line waits for the same line of other ranks (--merge-lines): ranks of one step do
 * the same within milliseconds, and people hardly notice it. */
#define MERGE_WAIT_SECONDS 0.25

/* Seconds in which readers take nothing of the output of a step that is to end: nobody reads. */
#define UNREAD_SECONDS 2.0

/* Seconds that hosts have for the stack traces of their ranks: some milliseconds for each, more
 * where a debugger reads large programs. */
#define STACK_REPORT_SECONDS 30.0
/* Seconds in which hosts tell of ranks that became stuck together. */
#define STUCK_GATHER_SECONDS 1.0
/* A second ^C within so many seconds ends the step. */
#define INT_AGAIN_SECONDS 1.0
/* timeout(1) and some managers send a signal to mprun and then to its group: that is one signal. */
#define SAME_INT_SECONDS 0.05
/* The same for a signal that ends the step and that nobody types: on a busy machine the sender may
 * be held up between the two, and the ranks would lose their grace. */
#define SAME_END_SECONDS 0.25
/* A manager may send a signal to the script's group, and then to each process of the job that it
 * finds, starters and ranks among them: on a busy machine mprun's turn comes late. */
#define SAME_MANAGER_SECONDS 1.0

/* While the job can be suspended: seconds between two looks at whether it is. */
#define SUSPENSION_LOOK_SECONDS 1
#define SUSPENSION_LATE_SECONDS 4 /* where the first look is lost */
/* The manager takes its time to stop all processes of a host, and each host its own: for so many
 * looks ranks are stopped, and start clients continued, again. */
#define SUSPENSION_SETTLING_LOOKS 3

/* Seconds that an mprund which lives has to answer: it does within 5 s, mostly at once, as it may
 * have to ask the manager. Without a grant nothing would hold the job's memory on other hosts. */
#define GRANTS_SECONDS 6.0
/* Answers of one mprund: more come from something else. */
#define GRANTS_MAX 65536

/* Listeners, with --interface one for each address; and addresses that starters are told, which
 * they all try at once. */
#define LISTENERS_MAX 8
#define ADDRESSES_MAX 12

/* Bytes of memory up to which mprun runs the starter in a copy of itself: mprun has 1 MiB, and more
 * with a queue of many commands. */
#define COPY_BYTES_MAX (8 << 20)

/* A start is looked at so often, in seconds. Its times are counted in these ticks, so that a
 * suspended mprun loses none of them. */
#define START_TICK_SECONDS 0.25
/* Ticks: a start that takes no longer draws no line of progress. */
#define PROGRESS_QUIET_TICKS 2u
/* Ticks in which no further host reports back: the hosts that are awaited are named, and once more
 * after the second number. */
#define PROGRESS_SLOW_TICKS   40u
#define PROGRESS_SLOWER_TICKS 240u
/* Awaited hosts that are named; the rest is counted. */
#define PROGRESS_NAMED_HOSTS 2u

/* Bytes of a start client's standard error that are held until its host reports back, and of one
 * line; then lines that are shown of a client, so that none floods the user. */
#define CLIENT_HELD_MAX  2000
#define CLIENT_LINE_MAX  400
#define CLIENT_SHOWN_MAX 40
/* Lines that are joined in one sentence; of more only the last one is in it. */
#define CLIENT_JOINED_LINES 3
/* Reads, of 2 KiB, of what is left when a client has ended: other processes may still write. */
#define CLIENT_DRAIN_READS 64

/* Seconds that hosts out of reach have, after the link grace, to notice it and to end, before mprun
 * ends their start clients. */
#define UNREACHABLE_SECONDS 10.0

/* Hosts that fail within so many seconds are one sentence: processes that die together, */
#define FAIL_TOGETHER_SECONDS 0.2
/* and hosts that give no answer, each of which is noticed on its own. */
#define FAIL_TOGETHER_SILENT_SECONDS 5.0
/* Part of --heartbeat in which hosts that fall silent are one sentence. */
#define SILENCE_TOGETHER 0.1
/* Seconds that a host has to say what its ranks use now (^C): a person waits. */
#define USAGE_NOW_SECONDS 0.5

/* Part of a limit from which on the user is warned. */
#define LIMIT_WARN_PART 0.9

/* Milliseconds that the cgroups of a host on this machine have to become empty after its starter
 * died. */
#define SWEEP_CGROUPS_MS 4000
/* Orphans of a dead starter are killed in so many rounds, of so many milliseconds, as they may fork
 * meanwhile. */
#define SWEEP_ROUNDS   200
#define SWEEP_ROUND_MS 20

/* Bytes of all names that ranks publish, and of lookups that wait: MPI programs have some hundred
 * of 100 bytes. */
#define NAMES_BYTES_MAX (16 << 20)

/* Bytes of input that were pushed (PMIx_IOF_push) and that ranks have not taken: what the pipe to
 * them does not hold. */
#define PUSHED_INPUT_MAX (4 << 20)

/* Worlds of other steps with which ranks of this one are connected at the same time, and bytes of
 * their parts in collectives that this step has not come to yet: as many as a message may have. */
#define OTHER_WORLDS_MAX 1024
#define EARLY_PARTS_MAX  (64 << 20)

/* Tries to reach the holder of the job's agents, which another mprun is about to start, and
 * nanoseconds between two. */
#define HOLDER_TRIES   200
#define HOLDER_WAIT_NS (5 * 1000 * 1000)
/* Nanoseconds after a holder's end in which steps that have slots tell the next one, before those
 * that wait ask it. */
#define HOLDER_RETAKE_NS (500 * 1000 * 1000)
/* Another holder is started so often when one has ended while it was needed. */
#define HOLDER_AGAIN 5

/* Seconds before the manager is asked again for room on a host that it had none on. */
#define ROOM_RETRY_SECONDS 1.0
/* Seconds that another mprun has to answer; a stopped one gives no answer. */
#define NEIGHBOUR_SECONDS 2.0
/* Bytes of output on their way to tools of one host (PMIx_IOF_pull). */
#define TOOL_OUTPUT_MAX (4 * 1024 * 1024)
/* With so many hosts or more, hosts start those below them: measured as fast at 128, faster by a
 * third at 256. */
#define THROUGH_HOSTS 192
