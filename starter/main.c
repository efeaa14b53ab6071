/* SPDX-License-Identifier: BSD-3-Clause */
/* mpstarter - one per host, started by the resource manager or by mprun; never by hand
 *
 * Without arguments it is that starter: what it has to know comes on standard input and in the
 * environment. With arguments it is a manager's starter method, and they are a job's command. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/log.h"
#include "common/processes/own-stack.h"
#include "common/text/words.h"
#include "common/files/tty.h"
#include "model/rank-end.h"
#include "rm-adapters/starter-side/starter-side.h"
#include "starter/agent/agent.h"
#include "starter/holder/holder.h"
#include "starter/keeper/keeper.h"
#include "starter/keeper/leader.h"
#include "starter/method/starter-method.h"
#include "starter/run.h"
#include "wire/start-channel/preamble.h"
#include "config.h"

static const char help[] =
    "mpstarter                            one host's part of a step; mprun starts it\n"
    "mpstarter [--method] COMMAND...      a resource manager's starter method: become COMMAND\n"
    "mpstarter --help | --version\n"
    "\n";

static int usage(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        printf("mpstarter (mprun) %s\n", PACKAGE_VERSION);
        return EXIT_CODE_OK;
    }
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        printf("%s%s", help, rm_starter_side_help);
        return EXIT_CODE_OK;
    }
    if (argc == 3 && strcmp(argv[1], "--hold") == 0)
        return holder_run((pid_t)atoi(argv[2]));
    if (argc == 2 && strcmp(argv[1], "--method") == 0)
        fputs("mpstarter: --method needs a command to run\n", stderr);
    else
        fprintf(stderr,
                "mpstarter: unknown option '%s'; write --method before a command that begins with "
                "a dash\n",
                argv[1]);
    return EXIT_CODE_MPRUN;
}

static int run_program(int argc, char **argv)
{
    log_open("mpstarter", LOG_NOTE);
    log_set_escape(text_escape);
    int command = method_command(argc, argv);
    if (argc > 1 && command == 0)
        return usage(argc, argv);
    if (command == 0)
        return starter_run();
    if (method_is_refused(argv[command]))
        return EXIT_CODE_MPRUN;
    return method_is_starter(argv + command) ? starter_run() : method_run(argv + command);
}

int main(int argc, char **argv)
{
    return own_stack_run(run_program, argc, argv);
}
