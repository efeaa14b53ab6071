/* SPDX-License-Identifier: BSD-3-Clause */
/* step-state.h - the states that a step goes through (step-states.c) */
#pragma once

enum step_state {
    STEP_STARTING,   /* starters are being started */
    STEP_PRELOADING, /* files are brought to the hosts */
    STEP_LAUNCHING,  /* LAUNCH was sent, not every rank runs */
    STEP_RUNNING,
    STEP_ENDING,    /* all ranks have ended, or are being ended; reports are awaited */
    STEP_CLEANING,  /* every host reported; CLEANED is awaited */
    STEP_RELEASING, /* starters are told to go */
    STEP_DONE,
    STEP_STATE_COUNT,
};

/* In a word, as messages and tools have it. */
const char *step_state_text(enum step_state s);
