/* SPDX-License-Identifier: BSD-3-Clause */
/* qrsh-stand-in - takes the time that `qrsh -inherit -noshell HOST PROGRAM` takes, and becomes
 * PROGRAM on this machine */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct timespec takes = {.tv_nsec = 300000000};
    if (argc < 5 || strcmp(argv[1], "-inherit") != 0 || strcmp(argv[2], "-noshell") != 0) {
        fputs("usage: qrsh -inherit -noshell HOST PROGRAM [ARGUMENT...]\n", stderr);
        return 2;
    }
    nanosleep(&takes, NULL);
    execv(argv[4], argv + 4);
    perror(argv[4]);
    return 1;
}
