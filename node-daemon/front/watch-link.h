/* SPDX-License-Identifier: BSD-3-Clause */
/* watch-link.h - what watch finds, and what it is told */
#pragma once

#include "node-daemon/front/requests.h"

struct watch_link;

/* start, r and what it names must outlive it. NULL with err. */
struct watch_link *watch_link_create(struct loop *l, struct start *start, struct requests *r,
                                     struct error *err);
void watch_link_destroy(struct watch_link *w); /* NULL is fine */
/* There may be another link in start: use it. */
void watch_link_renew(struct watch_link *w);
/* The reader has heard of this process of a manager's. */
void watch_link_consider(struct watch_link *w, pid_t pid);
/* A task of this job has this group; 0: it is not known. */
void watch_link_note(struct watch_link *w, const char *job, gid_t group);
/* Find now the processes that have the group of a task of this job, and are in no job's cgroup. */
void watch_link_ended(struct watch_link *w, const struct job *job);
/* Something was not heard: look at everything. */
void watch_link_look(struct watch_link *w);
/* Have it say who is in a job that is stuck, in this part of the ground, and in what they wait:
 * jobs_take_stuck(), later. */
void watch_link_stuck(struct watch_link *w, const struct job *job, size_t part);
