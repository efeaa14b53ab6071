/* SPDX-License-Identifier: BSD-3-Clause */
/* mprun - start a parallel program on the hosts of a job */
#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fault.h"
#include "common/fdio.h"
#include "common/log.h"
#include "common/tty.h"
#include "launcher/report-json.h"
#include "launcher/report-launch.h"
#include "launcher/run.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

static const char *own_name(const char *argv0)
{
    const char *slash = argv0 ? strrchr(argv0, '/') : NULL;
    return slash ? slash + 1 : argv0 && *argv0 ? argv0 : "mprun";
}

/* ---- output and input of ranks --------------------------------------------------------------- */

static void output_consumed(void *arg, uint32_t host, unsigned stream, uint64_t bytes)
{
    struct run *r = arg;
    Mprun__OutputCredit m = MPRUN__OUTPUT_CREDIT__INIT;
    m.stream = stream;
    m.bytes = bytes;
    struct link *l = host < r->nhosts ? host_link(&r->hosts[host]) : NULL;
    if (l)
        link_send(l, FRAME_OUTPUT_CREDIT, &m.base);
}

static void output_stream_closed(void *arg, unsigned stream, const struct error *why)
{
    struct run *r = arg;
    Mprun__OutputClosed m = MPRUN__OUTPUT_CLOSED__INIT;
    m.stream = stream;
    hosts_broadcast(r, FRAME_OUTPUT_CLOSED, &m.base);
    if (why->code == EPIPE)
        r->reader_left = 1;
    else
        run_fail(r, EXIT_CODE_MPRUN, "%s", why->text);
}

static void output_drained(void *arg)
{
    step_changed(arg);
}

static const struct output_events output_events = {
    .consumed = output_consumed, .closed = output_stream_closed, .drained = output_drained};

/* mprun's own words go the way of the ranks', in order with them. */
static void log_to_output(void *arg, enum log_level level, const char *text)
{
    struct run *r = arg;
    char line[4300];
    int n = snprintf(line, sizeof(line) - 1, "mprun: %s", text);
    if (n < 0)
        return;
    progress_erase(r);
    if ((size_t)n > sizeof(line) - 3)
        n = sizeof(line) - 3;
    if (r->terminal.taken)
        line[n++] = '\r';
    line[n++] = '\n';
    output_message(r->output, line, (size_t)n);
}

static void input_send(void *arg, struct rank_name name, const void *data, size_t n)
{
    hosts_send_input(arg, name, data, n);
}

static void input_end(void *arg, struct rank_name name)
{
    hosts_send_input(arg, name, NULL, 0);
}

static void input_failed(void *arg, const struct error *why)
{
    log_warn("%s", why->text);
}

static const struct input_events input_events = {
    .send = input_send, .end = input_end, .failed = input_failed};

static int open_output(struct run *r, struct error *err)
{
    struct output_options o = {
        .fds = {STDOUT_FILENO, STDERR_FILENO},
        .tag = r->cmd.tag_output,
        .timestamp = r->cmd.timestamp,
        .window = output_window(r->nused),
    };
    r->output = output_create(r->loop, &o, &output_events, r, err);
    if (r->output)
        log_set_sink(log_to_output, r);
    return r->output ? 0 : -1;
}

static int open_input(struct run *r, struct error *err)
{
    const struct step *s = &r->step;
    size_t n = s->stdin_target == STDIN_ALL ? s->nranks : 1;
    if (s->stdin_target == STDIN_NONE)
        return 0;
    AUTO_FREE struct rank_name *targets = calloc(n, sizeof(*targets));
    if (!targets)
        return error_errno(err, ENOMEM, "open the input");
    for (size_t i = 0; i < n; i++)
        targets[i].rank = s->stdin_target == STDIN_ALL ? (uint32_t)i : s->stdin_rank;
    r->input = input_create(r->loop, STDIN_FILENO, targets, n, &input_events, r, err);
    return r->input ? 0 : -1;
}

/* ---- the report ------------------------------------------------------------------------------ */

static char *command_line(const struct run *r)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    if (!f)
        return NULL;
    for (size_t i = 0; i < r->cmd.napps; i++) {
        fputs(i ? " :" : "", f);
        for (size_t k = 0; k < r->cmd.apps[i].argc; k++)
            fprintf(f, "%s%s", i || k ? " " : "", r->cmd.apps[i].argv[k]);
    }
    fclose(f);
    return text;
}

static void own_usage(struct usage *u)
{
    struct rusage self;
    getrusage(RUSAGE_SELF, &self);
    usage_set(u, USAGE_CPU_USER,
              (uint64_t)self.ru_utime.tv_sec * 1000000u + (uint64_t)self.ru_utime.tv_usec);
    usage_set(u, USAGE_CPU_SYSTEM,
              (uint64_t)self.ru_stime.tv_sec * 1000000u + (uint64_t)self.ru_stime.tv_usec);
    usage_set(u, USAGE_RSS_PEAK, (uint64_t)self.ru_maxrss * 1024);
}

static void fill_report(struct run *r, struct report *ret, struct report_host *hosts,
                        struct rank_end *first, const char *command, int exit_code)
{
    const struct rank_end *failure = ends_first(r);
    for (size_t i = 0; i < r->nused; i++)
        hosts[i] = r->launched[i]->report;
    /* a report has only the hosts that have ranks, and counts them so */
    for (uint32_t i = 0; i < r->step.nranks; i++)
        r->ranks[i].host = (uint32_t)r->hosts[r->ranks[i].host].launch_index;
    if (failure) {
        *first = *failure;
        first->host = (uint32_t)r->hosts[failure->host].launch_index;
    }
    *ret = (struct report){
        .version = PACKAGE_VERSION,
        .step_id = r->step.id,
        .job_id = r->alloc.job_id,
        .adapter = r->adapter->name,
        .command = command,
        .start_ns = r->start_ns,
        .end_ns = loop_wallclock_ns(),
        .exit_code = exit_code,
        .first_failure = failure ? first : NULL,
        .failure_text = r->failure_text[0] ? r->failure_text : NULL,
        .sample_period = r->step.sample_period,
        .launch = r->launch,
        .ranks = r->ranks,
        .nranks = r->step.nranks,
        .hosts = hosts,
        .nhosts = r->nused,
    };
    own_usage(&ret->launcher);
}

static int print_report(const char *text, struct error *err)
{
    if (!text)
        return error_errno(err, ENOMEM, "print the report");
    fputs(text, stderr);
    return 0;
}

/* All that were asked for: 0, or -1 with one error of those that are not there. */
static int write_reports(struct run *r, int exit_code, struct error *err)
{
    struct report report;
    struct rank_end first;
    int rc = 0;
    if (!r->cmd.report_usage && !r->cmd.report_launch && !r->cmd.report_json)
        return 0;
    AUTO_FREE struct report_host *hosts = calloc(r->nhosts, sizeof(*hosts));
    AUTO_FREE char *command = command_line(r);
    if (!hosts)
        return error_errno(err, ENOMEM, "make the report");
    fill_report(r, &report, hosts, &first, command, exit_code);
    umask((mode_t)r->step.umask); /* the report is the user's */
    if (r->cmd.report_launch) {
        AUTO_FREE char *text = report_launch_text(&report);
        rc |= print_report(text, err);
    }
    if (r->cmd.report_usage) {
        AUTO_FREE char *text = report_text(&report, r->cmd.report_usage == REPORT_USAGE_ALL);
        rc |= print_report(text, err);
    }
    if (r->cmd.report_json)
        rc |= report_write_json(&report, r->cmd.report_json, err);
    return rc;
}

/* The step's code, unless that says that all is well, and a report is missing. */
static int end_with_reports(struct run *r, int code)
{
    struct error e;
    if (write_reports(r, code, &e) == 0)
        return code;
    log_error("%s", e.text);
    return code == EXIT_CODE_OK ? EXIT_CODE_MPRUN : code;
}

/* ---- phases ---------------------------------------------------------------------------------- */

static void orphan_reaped(void *arg, pid_t pid, int status, const struct rusage *usage)
{
    starters_orphan_ended(arg, pid);
}

static int prepare(struct run *r, struct error *err)
{
    r->loop = loop_create(err);
    r->reaper = reaper_create(orphan_reaped, r);
    if (r->loop && !r->reaper)
        return error_errno(err, ENOMEM, "prepare the step");
    if (!r->loop || signals_watch(r, err) < 0 || run_setup(r, err) < 0)
        return -1;
    return 0;
}

static int any_here(const struct run *r)
{
    for (size_t i = 0; i < r->nused; i++)
        if (r->alloc.hosts[r->launched[i]->index].here)
            return 1;
    return 0;
}

static int open_everything(struct run *r, struct error *err)
{
    grants_ask(r);
    if (any_here(r))
        prctl(PR_SET_CHILD_SUBREAPER, 1); /* what keeper and worker leave comes to us */
    if (suspension_begin(r, err) < 0 || home_make(r, err) < 0 || open_output(r, err) < 0 ||
        open_input(r, err) < 0)
        return -1;
    r->collect = collect_create(r);
    if (!r->collect)
        return error_errno(err, ENOMEM, "prepare the step");
    r->control = control_create(r, err);
    return r->control ? 0 : -1;
}

static void close_everything(struct run *r)
{
    terminal_give_back(r);
    input_destroy(r->input);
    control_destroy(r->control);
    collect_destroy(r->collect);
    starting_close(r);
    suspension_end(r);
    log_set_sink(NULL, NULL);
    output_destroy(r->output);
}

static int run_step(struct run *r)
{
    struct error e = {0};
    int code = EXIT_CODE_MPRUN;
    r->start_ns = loop_wallclock_ns();
    r->start_time = loop_now();
    r->interrupt_time = -1e9;
    r->exit_code = -1;
    fault_register("mprun", getpid());
    if (prepare(r, &e) < 0) {
        log_error("%s", e.text);
        code = r->exit_code >= 0 ? r->exit_code : code;
    } else if (r->cmd.dry_run) {
        code = starting_find(r, &e) < 0 ? EXIT_CODE_MPRUN : EXIT_CODE_OK;
        if (code == EXIT_CODE_OK)
            run_print_plan(r);
        else
            log_error("%s", e.text);
    } else if (open_everything(r, &e) < 0) {
        close_everything(r);
        log_error("%s", e.text);
    } else {
        step_begin(r);
        loop_run(r->loop);
        failed_say(r);
        code = ends_exit_code(r);
        close_everything(r);
        signals_leave();
        if (r->cmd.explain)
            run_print_found(r);
        else
            code = end_with_reports(r, code);
    }
    run_free(r);
    return code;
}

static int print_help(const char *name)
{
    AUTO_FREE char *text = cmdline_help(name, (size_t)tty_width(STDOUT_FILENO));
    fputs(text ? text : "", stdout);
    return fflush(stdout) == 0 ? EXIT_CODE_OK : EXIT_CODE_MPRUN;
}

static int print_version(void)
{
    printf("mprun %s\n", PACKAGE_VERSION);
    return fflush(stdout) == 0 ? EXIT_CODE_OK : EXIT_CODE_MPRUN;
}

int main(int argc, char **argv)
{
    struct run r = {.argc = argc, .argv = argv};
    struct error e;
    const char *name = own_name(argv[0]);
    fd_open_standard();
    log_open("mprun", LOG_NOTE);
    r.as_mpirun = strcmp(name, "mprun") != 0;
    if (cmdline_parse(argc, argv, &r.cmd, &e) < 0) {
        log_error("%s", e.text);
        return EXIT_CODE_MPRUN;
    }
    if (r.cmd.help || r.cmd.version) {
        int code = r.cmd.help ? print_help(name) : print_version();
        cmdline_free(&r.cmd);
        return code;
    }
    if (r.cmd.verbose || r.cmd.quiet)
        log_open("mprun", r.cmd.verbose ? LOG_DEBUG : LOG_WARN);
    return run_step(&r);
}
