/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/host-directory.h"

#include <sodium.h>
#include <stdio.h>

#include "common/files/step-directory.h"

void host_directory_name(char ret[HOST_DIRECTORY_NAME], const uint8_t key[LINK_KEY], uint32_t host)
{
    uint8_t hash[crypto_generichash_BYTES_MIN];
    char label[40], random[HOST_DIRECTORY_RANDOM + 1];
    int n = snprintf(label, sizeof(label), "mprun directory of host %u", host);
    crypto_generichash(hash, sizeof(hash), (const uint8_t *)label, (size_t)n, key, LINK_KEY);
    for (int i = 0; i < HOST_DIRECTORY_RANDOM; i++)
        random[i] = STEP_ID_LETTERS[hash[i] % 32];
    random[HOST_DIRECTORY_RANDOM] = 0;
    snprintf(ret, HOST_DIRECTORY_NAME, STEP_DIRECTORY "%s.%u", random, host);
}
