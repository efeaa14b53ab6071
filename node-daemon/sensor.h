/* SPDX-License-Identifier: BSD-3-Clause */
/* sensor.h - `mprund sensor`: a load sensor of Grid Engine's */
#pragma once

/* A report on standard output for each line of standard input, until that ends or is "quit". host:
 * what the manager calls this host; NULL: what it calls itself. 0, or -1: nobody hears it. */
int sensor_run(const char *host);
