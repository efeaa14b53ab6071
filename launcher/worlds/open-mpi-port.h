/* SPDX-License-Identifier: BSD-3-Clause */
/* open-mpi-port.h - the names under which Open MPI 4 meets at a port
 *
 * A port is "JOB.RANK:NUMBER", where JOB is a hash of the namespace of the rank that has opened it.
 * MPI_Comm_connect and MPI_Comm_accept publish and look up "PORT:WORD...", and wait for ten
 * minutes. So it can be known that nobody will publish such a name. */
#pragma once

struct worlds;

enum port_owner {
    PORT_NONE,      /* it is another name */
    PORT_OWN,       /* of a world of this step that has not ended */
    PORT_ELSEWHERE, /* of another step, or of a world that has ended */
};

/* w NULL: it is not known who has ports. */
enum port_owner open_mpi_port_owner(const struct worlds *w, const char *name);
