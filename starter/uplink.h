/* SPDX-License-Identifier: BSD-3-Clause */
/* uplink.h - a host's link to mprun, or to the host above it: how it is made, its first words, and
 * what to do when it is gone */
#ifndef STARTER_UPLINK_H
#define STARTER_UPLINK_H

struct error;
struct worker;

/* Make the link to mprun, by its addresses or over the start channel, as the preamble says. */
int uplink_connect(struct worker *w, struct error *err);
/* The node daemon has answered (contain.h): which cores are the job's is known from here on. */
void uplink_job_asked(void *arg);

/* Make the link that is to replace w->up: tree_link_opened() or tree_link_failed() tells. */
int uplink_connect_above(struct worker *w, const char *addresses, double timeout,
                         struct error *err);

/* There is nobody above any more: end the ranks, clean up and exit. A second call may only shorten
 * the grace. mprun_has_gone: that is known. */
void uplink_give_up(struct worker *w, const struct error *why, int mprun_has_gone, double grace);
#define ORPHAN_KILL_SECONDS 2.0 /* grace for ranks whose mprun has gone */

#endif
