/* SPDX-License-Identifier: BSD-3-Clause */
/* start-client-words.c - the start client in messages */
#include "launcher/start/start-client-words.h"

#include "launcher/step-plan.h"

const char *start_client_name(const struct step_plan *plan)
{
    if (plan->cmd->agent)
        return plan->cmd->agent[0];
    return plan->adapter->client_name ? plan->adapter->client_name : plan->adapter->name;
}

const char *start_client_advice(const struct step_plan *plan, const char *words, char *buf,
                                size_t n)
{
    buf[0] = 0;
    if (!plan->cmd->agent && plan->adapter->advise)
        plan->adapter->advise(words, buf, n);
    return buf;
}

bool start_client_is_noise(const struct step_plan *plan, const char *line)
{
    return !plan->cmd->agent && plan->adapter->is_noise && plan->adapter->is_noise(line);
}
