/* SPDX-License-Identifier: BSD-3-Clause */
/* job-names.h - links between the mpruns of a job, over which they look up names and connect ranks
 *
 * An mprun whose ranks use names finds those beside it by their control sockets: the steps that one
 * script runs at the same time. It finds those on other hosts by the holder of the job's agents,
 * which each of them tells where it listens. It tells all of them that it is there, and either side
 * then passes lookups to the other. A name ends with its step. Frames that are not about names go
 * to job-worlds.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/loop.h"
#include "launcher/worlds/meeting.h"
#include "wire/messages/frame.h"

struct job_worlds;
struct name_service;
struct socket_directory;

struct job_names { /* private to job-names.c; as zero it knows no other step */
    struct loop *loop;
    const struct step_plan *plan;
    const struct socket_directory *directory;
    struct name_service *names;
    struct job_worlds *worlds;
    struct job_peer *peers;
    uint32_t last_number; /* of a step */
    bool has_joined;
    struct loop_timer joining; /* runs while it is not known yet which other steps there are */
    struct meeting meeting;
};

/* Without a job there are no other steps. */
void job_names_init(struct job_names *j, struct loop *loop, const struct step_plan *plan,
                    const struct socket_directory *directory, struct name_service *names,
                    struct job_worlds *worlds);
void job_names_close(struct job_names *j);
/* Takes a frame that came over the control socket. False: it is not understood, or `tool` is no
 * step of this job. */
bool job_names_frame(struct job_names *j, struct link *tool, enum frame_type type, const uint8_t *p,
                     size_t n);
void job_names_tool_gone(struct job_names *j, struct link *tool);
