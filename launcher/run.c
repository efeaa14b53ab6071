/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher/run.h"

#include <stdlib.h>
#include <sys/prctl.h>

#include "common/cleanup.h"
#include "launcher/tools/mpir.h"

static void orphan_reaped(void *arg, pid_t pid, int status, const struct rusage *usage)
{
    struct run *r = arg;
    if (r->starters)
        starters_orphan_ended(r->starters, pid);
}

int run_create_loop(struct run *r, struct error *err)
{
    r->loop = loop_create(err);
    if (!r->loop)
        return -1;
    r->reaper = reaper_create(orphan_reaped, r);
    loop_defer_init(&r->turn, r->loop, step_turn, r);
    verdict_init(&r->verdict, &r->turn);
    return 0;
}

static void send_name_reply(void *host, const Mprun__NameReply *m)
{
    host_send(host, FRAME_NAME_REPLY, &m->base);
}

void run_create(struct run *r, const struct step_plan *plan)
{
    r->plan = plan;
    worlds_init(&r->worlds, plan);
    step_record_init(&r->record, plan);
    step_record_add_world(&r->record, r->worlds.first);
    r->hosts = host_table_create(plan, &r->record, &r->worlds);
    r->hosts->context = r;
    name_service_init(&r->names, r->loop, &r->worlds, send_name_reply);
    job_worlds_init(&r->job_worlds, r->hosts, &r->worlds);
    job_names_init(&r->job_names, r->loop, plan, &r->directory, &r->names, &r->job_worlds);
    r->spawner = (struct spawner){.worlds = &r->worlds,
                                  .hosts = r->hosts,
                                  .record = &r->record,
                                  .verdict = &r->verdict,
                                  .preload = &r->preload};
    rank_failures_init(&r->rank_failures, r->loop, plan, &r->record, &r->verdict);
    host_failures_init(&r->host_failures, r->loop, r->hosts, &r->verdict);
    usage_now_init(&r->usage_now, r->loop, r->hosts, &r->verdict, &r->turn);
    step_limits_init(&r->limits, r->loop, r->hosts, &r->verdict);
    stack_report_init(&r->stacks, r->loop, r->hosts, &r->turn);
    stuck_ranks_init(&r->stuck, r->loop, r->hosts, &r->stacks);
    pmi_exchange_init(&r->exchange, r->hosts, &r->job_worlds);
    hosts_watch(r->hosts, r->loop);
}

int run_open(struct run *r, struct error *err)
{
    if (r->plan->nhere > 0)
        prctl(PR_SET_CHILD_SUBREAPER, 1); /* what keeper and worker leave comes to us */
    if (r->plan->adapter->suspends_script &&
        job_suspension_begin(&r->suspension, r->reaper, &step_suspension_events, r, err) < 0)
        return -1;
    if (step_open_streams(r, err) < 0)
        return -1;
    const struct queue_step of_queue = {.spawner = &r->spawner,
                                        .worlds = &r->worlds,
                                        .hosts = r->hosts,
                                        .failures = &r->rank_failures,
                                        .verdict = &r->verdict,
                                        .output = r->output};
    if (queue_begin(r->queue, &of_queue, err) < 0)
        return -1;
    r->starters = starters_create(&(struct starters_step){
        .loop = r->loop,
        .reaper = r->reaper,
        .turn = &r->turn,
        .plan = r->plan,
        .record = &r->record,
        .hosts = r->hosts,
        .output = r->output,
        .verdict = &r->verdict,
        .failures = &r->host_failures,
        .directory = &r->directory,
        .suspension = &r->suspension,
        .cores = &r->cores,
        .links = &host_link_events,
    });
    if (socket_directory_make(&r->directory, r->plan->step.id, err) < 0)
        return -1;
    return control_socket_open(&r->control, r->loop, r->directory.path, &step_control_events, r,
                               err);
}

void run_close(struct run *r)
{
    terminal_give_back(&r->terminal);
    input_destroy(take_ptr(r->input));
    pushed_input_destroy(take_ptr(r->pushed));
    job_names_close(&r->job_names); /* before their links: no other step is gone */
    control_socket_close(&r->control);
    starters_close(r->starters);
    host_table_close_links(r->hosts);
    socket_directory_remove(&r->directory);
    job_suspension_end(&r->suspension);
    mpir_close();
    step_close_streams(r); /* all that is said before goes the way of the ranks' output */
}

void run_free(struct run *r)
{
    free(r->tracking_note);
    gather_destroy(r->exchange.gather);
    tool_output_free(&r->tool_output);
    step_limits_free(&r->limits);
    name_service_free(&r->names);
    job_worlds_free(&r->job_worlds);
    usage_now_free(&r->usage_now);
    stuck_ranks_free(&r->stuck);
    stack_report_free(&r->stacks);
    host_failures_free(&r->host_failures);
    rank_failures_free(&r->rank_failures);
    preload_destroy(r->preload);
    starters_destroy(r->starters);
    host_table_destroy(r->hosts);
    spawner_free(&r->spawner);
    queue_destroy(r->queue);
    worlds_free(&r->worlds);
    step_record_free(&r->record);
    loop_timer_stop(&r->timeout.timer);
    loop_defer_stop(&r->turn);
    reaper_destroy(r->reaper);
    loop_destroy(r->loop);
}
