/* SPDX-License-Identifier: BSD-3-Clause */
/* host.h - one host's part of a step: all that the worker has, put together
 *
 * host.c makes the parts and connects their events; launcher-messages.c does what mprun says;
 * host-states.c has the states that the host goes through, and host-prepare.c what is done before
 * ranks can be started. */
#pragma once

#include <stdbool.h>

#include "common/error.h"

struct host;
struct preamble;
struct starter_services;

/* Takes the services that the worker itself makes, and the preamble, of which it wipes the key.
 * NULL with err. */
struct host *host_create(const struct starter_services *setup, struct preamble *start,
                         struct error *err);
void host_destroy(struct host *h); /* NULL is fine */
/* Start the PMI server, ask the node daemon, connect to mprun. -1 with err. */
int host_start(struct host *h, struct error *err);
/* A signal has come: some end the step, all let the host machine look. */
void host_take_signal(struct host *h, int signo);
/* The keeper's descriptor is readable. false: the keeper has died. */
bool host_keeper_readable(struct host *h);
/* The loop has stopped: send what waits. Returns the exit code. */
int host_finish(struct host *h);
