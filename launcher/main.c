/* SPDX-License-Identifier: BSD-3-Clause */
/* mprun - start a parallel program on the hosts of a job */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/processes/fault.h"
#include "common/files/fdio.h"
#include "common/log.h"
#include "common/must.h"
#include "common/text/number.h"
#include "common/processes/own-stack.h"
#include "common/processes/process-title.h"
#include "common/text/text.h"
#include "common/text/words.h"
#include "common/files/path.h"
#include "common/files/tty.h"
#include "launcher/cmdline/other-launchers/translate.h"
#include "launcher/explain/explain.h"
#include "launcher/explain/foresee.h"
#include "launcher/outcome/exit-code.h"
#include "launcher/outcome/lone-ranks.h"
#include "launcher/run.h"
#include "launcher/step/signal-mask.h"
#include "config.h"

/* ---- phases ---------------------------------------------------------------------------------- */

/* Hashes of large files may take a while. */
static int read_preload(struct run *r, int *code, struct error *err)
{
    const struct step_plan *p = r->hosts->plan;
    const struct preload_request what = {
        .options = &p->cmd->preload, .apps = p->step.apps, .napps = p->step.napps, .directory = ""};
    signal_mask_open();
    int rc = preload_create(r->hosts, &r->verdict, &what, &r->preload, code, err);
    signal_mask_close();
    return rc;
}

/* Reads what was granted and decides what is run where; starts nothing. -1 with err, and perhaps
 * another exit code. */
static int prepare(struct run *r, struct step_plan *plan, const struct cmdline *cmd, bool as_mpirun,
                   int *code, struct error *err)
{
    struct inherited user;
    inherited_replace(&user);
    if (step_report_check(cmd, err) < 0 || run_create_loop(r, err) < 0 ||
        step_watch_signals(r, err) < 0 || step_plan_make(plan, cmd, as_mpirun, err) < 0 ||
        step_plan_find_starter(plan, err) < 0)
        return -1;
    cores_await(&r->cores, plan);
    if (step_plan_complete(plan, &user, err) < 0)
        return -1;
    run_create(r, plan);
    if (read_preload(r, code, err) < 0)
        return -1;
    r->record.launch.known = step_plan_seconds(plan);
    return 0;
}

/* All ranks have ended by themselves, or because one has failed by its exit code. */
static bool have_ended(const struct run *r, const struct rank_end *first)
{
    return r->verdict.exit_code < 0 && r->record.counts.started == r->record.nranks &&
           (!first || first->cause == END_CODE);
}

/* Runs the step to its end. Returns its exit code. */
static int run_to_end(struct run *r)
{
    const struct rank_end *first;
    bool are_lone = lone_ranks_foresee(r->plan);
    lone_ranks_warn_of_mix(r->plan);
    step_begin(r);
    loop_run(r->loop);
    host_failures_finish(&r->host_failures);
    first = rank_failures_first(&r->rank_failures);
    if (!are_lone && !r->rank_failures.init_called && have_ended(r, first))
        lone_ranks_say(r->plan);
    queue_say_end(r->queue);
    return step_exit_code(&r->verdict, first);
}

/* Returns the step's code; mprun's own where all is well but for a report that is missing. */
static int report(struct run *r, int code)
{
    struct error e;
    if (step_report_write(r->plan, &r->record, rank_failures_first(&r->rank_failures),
                          r->verdict.text, code, &e) == 0)
        return code;
    log_error("%s", e.text);
    return code == EXIT_CODE_OK ? EXIT_CODE_MPRUN : code;
}

/* All that mprun itself has printed is written. */
static int end_output(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return EXIT_CODE_OK;
    log_error("write to standard output: %s", strerror(errno));
    return EXIT_CODE_MPRUN;
}

/* Another standard input than mprun was given. */
static int open_input_file(const char *path, struct error *err)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd >= 0 && dup2(fd, STDIN_FILENO) >= 0
               ? 0
               : error_errno(err, errno, "read standard input from '%.200s'", path);
}

static int open_step(struct run *r, struct error *err)
{
    display_before_start(r->hosts);
    return run_open(r, err);
}

/* Prints what --dry-run and --explain have found. code: why not 0, would_fail says. */
static int print_plan(struct run *r, const char *would_fail)
{
    struct error e;
    const struct cmdline *cmd = r->plan->cmd;
    if (!cmd->json)
        explain_print(r->hosts, &r->record, r->starters);
    else if (explain_print_json(r->hosts, &r->record, r->starters, would_fail, &e) < 0) {
        log_error("%s", e.text);
        return EXIT_CODE_MPRUN;
    }
    return end_output() == EXIT_CODE_OK && !would_fail ? EXIT_CODE_OK : EXIT_CODE_MPRUN;
}

static int dry_run(struct run *r)
{
    struct error e;
    bool fails = foresee(r->hosts, &r->record, &e) < 0;
    int code = print_plan(r, fails ? e.text : NULL);
    if (fails)
        log_error("%s", e.text);
    return code;
}

/* --display map: what --dry-run prints. The step itself says what fails. */
static int show_plan(struct run *r)
{
    AUTO(step_record_free) struct step_record foreseen;
    struct error e;
    step_record_init(&foreseen, r->plan);
    step_record_add_world(&foreseen, r->worlds.first);
    (void)foresee(r->hosts, &foreseen, &e);
    explain_print(r->hosts, &foreseen, NULL);
    return fflush(stdout);
}

/* --explain: a failure was said when it came. */
static int explain(struct run *r, int code)
{
    const char *why = r->verdict.text[0] ? r->verdict.text : "the hosts could not be asked";
    return print_plan(r, code == EXIT_CODE_OK ? NULL : why);
}

static int run_step(struct cmdline *cmd, bool as_mpirun)
{
    struct step_plan plan = {0};
    struct run r = {0};
    struct error e = {0};
    int code = EXIT_CODE_MPRUN;
    fault_register("mprun", getpid());
    bool is_read = (!cmd->stdin_file || open_input_file(cmd->stdin_file, &e) == 0) &&
                   queue_create(cmd, &r.queue, &e) == 0;
    if (is_read && !queue_has_commands(r.queue)) {
        log_note("every command has succeeded before; nothing is left to run");
        code = EXIT_CODE_OK;
    } else if (!is_read || prepare(&r, &plan, cmd, as_mpirun, &code, &e) < 0) {
        log_error("%s", e.text);
        code = cmd->dry_run || cmd->explain ? EXIT_CODE_MPRUN : code;
    } else if (cmd->dry_run) {
        code = dry_run(&r);
    } else if (cmd->show_plan && show_plan(&r) != 0) {
        log_error("print where ranks run: %s", strerror(errno));
    } else if (open_step(&r, &e) < 0) {
        run_close(&r);
        log_error("%s", e.text);
    } else {
        code = run_to_end(&r);
        run_close(&r);
        signal_mask_open();
        code = cmd->explain ? explain(&r, code) : report(&r, code);
    }
    run_free(&r);
    step_plan_free(&plan);
    return code;
}

/* Is the word this option, or (1) with its value? */
static bool is_option(const char *word, const char *name, size_t *ret_words)
{
    size_t n = strlen(name);
    const char *at = word + (strncmp(word, "--", 2) == 0);
    *ret_words = at[1] && strncmp(at + 1, name, n) == 0 && at[1 + n] == '=' ? 1 : 2;
    return at[0] == '-' && strncmp(at + 1, name, n) == 0 && (!at[1 + n] || at[1 + n] == '=');
}

/* Becomes a script beside this program, which starts this one with the other words of the line.
 * value: of the option that asked for it, which goes before the others; NULL: it has none. */
static int become_script(const char *option, const char *value, int argc, char **argv)
{
    char here[40], installed[60], self[PATH_MAX] = "";
    const char *const beside[] = {here, installed, NULL};
    struct error e = {0};
    size_t n = 0, words_of_option;
    snprintf(here, sizeof(here), "%s", option);
    snprintf(installed, sizeof(installed), "../libexec/mprun/%s", option);
    AUTO_FREE char *fixed = text_format("%s/%s", PKGLIBEXECDIR, option);
    AUTO_FREE char *script = path_find_helper(beside, fixed, &e);
    AUTO_FREE const char **words = must(calloc((size_t)argc + 3, sizeof(*words)));
    if (script && readlink("/proc/self/exe", self, sizeof(self) - 1) > 0) {
        words[n++] = script;
        if (value)
            words[n++] = value;
        words[n++] = self;
        for (int i = 1; i < argc; i++)
            if (!is_option(argv[i], option, &words_of_option))
                words[n++] = argv[i];
            else if (value && words_of_option == 2)
                i++;
        execv(script, (char **)(uintptr_t)words);
    }
    log_error("start %s: %s", option, script ? strerror(errno) : e.text);
    return EXIT_CODE_MPRUN;
}

static int print_help(enum help_subject subject, const char *name)
{
    AUTO_FREE char *text = cmdline_help(name, subject, tty_get_size(STDOUT_FILENO).columns);
    fputs(text, stdout);
    return end_output();
}

/* --check */
static int say_mistakes(const struct cmdline *cmd)
{
    const struct settings *s = &cmd->settings;
    for (size_t i = 0; i < s->nmistakes; i++)
        log_error("%s", s->mistakes[i]);
    if (s->nmistakes)
        return EXIT_CODE_MPRUN;
    printf("files and variables set %zu option%s, and nothing in them is wrong; 'mprun "
           "--show-config' prints them\n",
           s->n, plural(s->n));
    return end_output();
}

static int print_translation(const struct cmdline *cmd, int argc, char **argv)
{
    struct error e;
    if (cmdline_translate(cmd, argc, argv, stdout, &e) == 0)
        return end_output();
    log_error("translate the line: %s", e.text);
    return EXIT_CODE_MPRUN;
}

/* Standard output that is closed: what is written there is an error (EBADF), and not lost without a
 * word. */
static void open_standard(void)
{
    bool is_closed = fcntl(STDOUT_FILENO, F_GETFD) < 0;
    fd_open_standard();
    int fd = is_closed ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        dup2(fd, STDOUT_FILENO);
        close(fd);
    }
}

static int run_program(int argc, char **argv)
{
    struct cmdline cmd;
    struct error e;
    const char *name = *program_invocation_short_name ? program_invocation_short_name : "mprun";
    int code;
    open_standard();
    signal(SIGXFSZ, SIG_IGN); /* `ulimit -f` is for ranks; a write of ours that fails is an error */
    log_open("mprun", LOG_NOTE);
    log_set_escape(text_escape);
    if (argc > 1 && strcmp(argv[1], "--complete") == 0) {
        cmdline_complete(argc, argv, stdout);
        return end_output();
    }
    if (cmdline_parse(argc, argv, &cmd, &e) < 0 ||
        (!cmd.help && !cmd.version && !cmd.self_test && !cmd.env_diff &&
         cmdline_take_environment(&cmd, environ, &e) < 0)) {
        log_error("%s", e.text);
        cmdline_free(&cmd);
        return EXIT_CODE_MPRUN;
    }
    if (cmd.verbose || cmd.quiet)
        log_open("mprun", cmd.verbose ? LOG_DEBUG : LOG_WARN);
    if (cmd.help) {
        code = print_help(cmd.help, name);
    } else if (cmd.version) {
        printf("mprun %s\n", PACKAGE_VERSION);
        code = end_output();
    } else if (cmd.settings.is_checked) {
        code = say_mistakes(&cmd);
    } else if (cmd.settings.is_shown) {
        settings_print(&cmd, stdout);
        code = end_output();
    } else if (cmd.translate) {
        code = print_translation(&cmd, argc, argv);
    } else if (cmd.self_test) {
        code = become_script("self-test", NULL, argc, argv);
    } else if (cmd.env_diff) {
        code = become_script("env-diff", cmd.env_diff, argc, argv);
    } else {
        code = run_step(&cmd, strcmp(name, "mprun") != 0 || cmd.dialect != DIALECT_MPRUN);
    }
    cmdline_free(&cmd);
    return code;
}

int main(int argc, char **argv)
{
    process_title_init(argc, argv);
    return own_stack_run(run_program, argc, argv);
}
