/* SPDX-License-Identifier: BSD-3-Clause */
/* host-directory.h - how the directories of a step's hosts are called
 *
 * They are made where everybody can make some (/tmp, /dev/shm), so nobody else may know their names
 * before they are there: the step's key decides them. mprun and the host's starter come to the same
 * one, and what a starter that died has left can be removed. */
#ifndef WIRE_HOST_DIRECTORY_H
#define WIRE_HOST_DIRECTORY_H

#include <stdint.h>

#include "wire/link.h"

enum {
    HOST_DIRECTORY_RANDOM = 12, /* letters of 5 bits; as many as a step's id has */
    HOST_DIRECTORY_NAME = 32,   /* with all around them and a NUL */
};

/* "mprun-", letters that follow from the key and the host, a dot, the host's number. */
void host_directory_name(char ret[HOST_DIRECTORY_NAME], const uint8_t key[LINK_KEY], uint32_t host);

#endif
