/* SPDX-License-Identifier: BSD-3-Clause */
/* host-directory.h - the names of the directories of a step's hosts
 *
 * The directories lie where every user can make some (/tmp, /dev/shm), so no other user may know a
 * name before its directory exists. The step's key determines the names: mprun and the host's
 * starter compute the same name, and mprun can remove what a dead starter has left. */
#pragma once

#include <stdint.h>

#include "wire/link/link.h"

enum {
    HOST_DIRECTORY_RANDOM = 12, /* letters of 5 bits; as many as a step's id has */
    HOST_DIRECTORY_NAME = 32,   /* bytes of a name, with its NUL */
};

/* Writes "mprun-", letters that depend on the key and the host, a dot, and the host's number. */
void host_directory_name(char ret[HOST_DIRECTORY_NAME], const uint8_t key[LINK_KEY], uint32_t host);
