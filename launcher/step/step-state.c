/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher/step/step-state.h"

const char *step_state_text(enum step_state s)
{
    static const char *const text[STEP_STATE_COUNT] = {
        [STEP_STARTING] = "starting",   [STEP_PRELOADING] = "preloading",
        [STEP_LAUNCHING] = "launching", [STEP_RUNNING] = "running",
        [STEP_ENDING] = "ending",       [STEP_CLEANING] = "cleaning",
        [STEP_RELEASING] = "releasing", [STEP_DONE] = "done",
    };
    return text[s];
}
