/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher/outcome/exit-code.h"

int exit_code_low(int code)
{
    return code & 0xff ? code & 0xff : 1;
}

int exit_code_of_rank(const struct rank_end *end)
{
    if (!end)
        return EXIT_CODE_OK;
    switch (end->cause) {
    case END_LIMIT:
    case END_SIGNAL:
        return EXIT_CODE_SIGNAL + end->code;
    case END_ABORT:
        if (end->code == 0) /* the code is the program's: STOP of a coarray program ends so */
            return EXIT_CODE_OK;
        return exit_code_low(end->code);
    case END_CODE:
        return exit_code_low(end->code);
    case END_NOT_STARTED:
        return end->code;
    case END_NO_FINALIZE:
    case END_NO_INIT:
        return EXIT_CODE_NO_FINALIZE;
    case END_OK:
    case END_KILLED:
        return EXIT_CODE_OK;
    }
    return EXIT_CODE_MPRUN;
}

int step_exit_code(const struct verdict *v, const struct rank_end *first)
{
    return v->exit_code >= 0 ? v->exit_code : exit_code_of_rank(first);
}
