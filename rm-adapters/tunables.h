/* SPDX-License-Identifier: BSD-3-Clause */
/* tunables.h - the adapters' times and bounds: one place, each with its unit and its reason
 *
 * Bounds of what is read (bytes of a file, length of a name) stand in the header of the reader. */
#pragma once

/* ---- start clients --------------------------------------------------------------------------- */

/* Hosts that are being started at once, without --start-concurrency. Each is a process of mprun's
 * host until its starter says HELLO; more of them gain little, because they share its cores. */
#define START_AT_ONCE 64
/* Hosts of local:N, all started at once: they are this machine. */
#define LOCAL_HOSTS_MAX 64
/* Seconds between SIGTERM and SIGKILL to start clients of a cancelled start. The user waits. */
#define CLIENT_KILL_SECONDS 2.0
/* Seconds of ssh's own ConnectTimeout: this part of --start-timeout, and at least so many. A name
 * may have several addresses, each of which may take that long, and ssh's sentence about the last
 * one has to come before mprun's own. */
#define SSH_CONNECT_PARTS       4
#define SSH_CONNECT_SECONDS_MIN 2

/* Seconds for an answer of scontrol. */
#define SCONTROL_SECONDS 10.0

/* Seconds for the last words of a task that srun says has ended: they may come after that. */
#define SRUN_WORDS_SECONDS 0.3
/* Seconds for released starters to end, before mprun tells srun to end the rest. srun then kills
 * all of them at once. */
#define SRUN_END_SECONDS 1.0

/* Seconds for an answer of pbs_mom, which may start a program of its own (the cgroups hook, 0.25 s)
 * for each task of a host, and tells nobody when it has lost a request. */
#define TM_ANSWER_SECONDS 10.0
/* Requests for tasks that have no answer yet, of a quarter of a kilobyte each: together with as
 * many others they fit into pbs_mom's socket, so that none comes in two pieces. */
#define TM_SPAWNS_AT_ONCE 64
/* Those of Torque have the start parameters, some kilobytes. */
#define TM_SPAWNS_OF_TORQUE_AT_ONCE 8
/* Seconds for pbs_mom to take a session: the host's starter waits. */
#define TM_ATTACH_SECONDS 2.0
/* Seconds for the first answer of pbs_mom, for which it starts nothing; later it counts as an older
 * one. */
#define TM_FIRST_ANSWER_SECONDS 4.0

/* ---- managers' commands ---------------------------------------------------------------------- */

/* Seconds for qconf when it explains a failed start: the user waits for the message. */
#define QCONF_ADVICE_SECONDS 10.0
/* Seconds for qconf when nothing can start without its answer. */
#define QCONF_SPOOL_SECONDS 20.0
/* Seconds for a command to be gone after SIGKILL. One that is held longer is left alone. */
#define ASK_REAP_SECONDS 5.0
/* Milliseconds between two looks at whether a command has ended; they grow up to this. */
#define ASK_NAP_MAX_MS 20

/* Ancestors of a process among which a manager's process is looked for. */
#define SESSION_ANCESTORS_MAX 64
