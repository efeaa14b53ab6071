/* SPDX-License-Identifier: BSD-3-Clause */
/* explain-text.c - --dry-run and --explain, for people */
#include "launcher/explain/explain.h"

#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "common/text/number.h"
#include "common/processes/spawn.h"
#include "common/text/text.h"
#include "common/text/words.h"
#include "launcher/explain/foresee.h"
#include "launcher/start/starters.h"
#include "plan/topology.h"

enum { LIMITS_TEXT = 2000 };

/* ---- what both print ------------------------------------------------------------------------- */

void explain_start(const struct step_plan *p, const struct host *h, const struct starters *starters,
                   char *buf, size_t n)
{
    struct start_request request = starters_request(p);
    buf[0] = 0;
    if (!p->adapter->describe)
        return;
    if (starters_were_forked(starters, h))
        snprintf(buf, n, "by the job's agent there, which another mprun has started");
    else
        p->adapter->describe(&request, &p->alloc.hosts[h->index], buf, n);
}

char *explain_file(const struct app *a, struct error *err)
{
    char *path = NULL;
    return spawn_resolve(a->argv[0], a->envp, a->directory, &path, err) < 0 ? NULL : path;
}

bool explain_is_removed(const struct app *a, const char *variable)
{
    AUTO_FREE char *name = must(strndup(variable, strcspn(variable, "=")));
    return !spawn_env_value(a->envp, name);
}

/* ---- hosts ----------------------------------------------------------------------------------- */

static void print_granted(const struct step_plan *p, const struct host *h)
{
    const struct alloc_host *a = &p->alloc.hosts[h->index];
    AUTO_FREE char *ranks = rank_set_format(h->ranks);
    AUTO_FREE char *cores = a->cores_known ? idset_format(&a->cores) : NULL;
    printf("host        %s: %u slot%s (%s)", a->name, a->slots.value, plural(a->slots.value),
           a->slots.source);
    if (cores)
        printf(", hardware threads %s (%s)", cores, a->cores_source);
    if (a->core_list)
        printf(", cores %s as socket,core%s%s%s", a->core_list, a->cores_source[0] ? " (" : "",
               a->cores_source, a->cores_source[0] ? ")" : "");
    printf(", %s\n", ranks);
}

static void print_hosts(const struct host_table *hosts)
{
    const struct step_plan *p = hosts->plan;
    for (size_t i = 0; i < p->nhosts; i++)
        print_granted(p, &hosts->all[i]);
}

static void print_found(const struct host_facts *f, const struct report_host *r)
{
    char memory[16];
    if (!f->version) {
        printf("            its starter did not answer\n");
        return;
    }
    printf(
        "            kernel's name %s, %u core%s (hardware threads %s), memory %s, mpstarter %s\n",
        f->kernel_name, r->cores, plural(r->cores), f->allowed_threads,
        size_format(f->memory, memory, sizeof(memory)), f->version);
    printf("            containment '%s': %s\n", tracking_text(r->tracking), r->tracking_reason);
}

/* --dry-run alone: the host's own words are those of its cores, which may be known here. */
static void print_foreseen(const struct step_plan *p, const struct host *h)
{
    struct error e;
    struct topology *t = NULL;
    if (p->cmd->display_topology && (t = foresee_topology(p, h, &e)))
        topology_print(t, "            ", stdout);
    topology_destroy(t);
}

static void print_binding(const struct step_plan *p, const struct host_facts *f)
{
    const char *source = p->step.bind.cores > 1 ? p->rank_cores_source : "";
    if (f->bind_reason)
        printf("            %s%s%s%s\n", f->bind_reason, *source ? " (" : "", source,
               *source ? ")" : "");
}

static void print_limits(const char *before, const struct limits *l, enum limit_level level)
{
    char text[LIMITS_TEXT];
    report_limits_text(l, level, text, sizeof(text));
    if (text[0])
        printf("%s%s\n", before, text);
}

static void print_rank(const struct step_record *record, struct rank_name name)
{
    char text[RANK_NAME_TEXT];
    const char *cores = step_record_bound_text(record, name);
    const struct report_rank *r = step_record_rank(record, name);
    if (cores)
        printf("            rank %-4s %s\n", rank_name_format(name, text),
               *cores ? cores : "not bound");
    if (r && cores && record->plan->cmd->explain)
        print_limits("                      ", &r->limits, LIMIT_OF_RANK);
}

static void print_host(const struct step_record *record, const struct host *h,
                       const struct starters *starters)
{
    const struct step_plan *p = record->plan;
    char how[1500];
    print_granted(p, h);
    explain_start(p, h, starters, how, sizeof(how));
    if (how[0])
        printf("            started %s\n", how);
    const struct host_facts *f = &record->facts[h->launch_index];
    if (p->cmd->explain)
        print_found(f, &record->hosts[h->launch_index]);
    else
        print_foreseen(p, h);
    print_binding(p, f);
    if (record->hosts[h->launch_index].ready)
        print_limits("            ", &record->hosts[h->launch_index].limits, LIMIT_OF_HOST);
    for (uint32_t i = 0; i < rank_set_count(h->ranks); i++)
        print_rank(record, rank_set_at(h->ranks, i));
}

/* ---- programs -------------------------------------------------------------------------------- */

static void print_escaped(const char *text)
{
    char shown[1000];
    text_escape(text, strlen(text), shown, sizeof(shown));
    printf("%s", shown);
}

static bool has_place(const char *what, size_t *n)
{
    enum { MOST = 40 };
    if (*n < MOST)
        printf("%s", *n ? " " : what);
    else if (*n == MOST)
        printf(" ...");
    return (*n)++ < MOST;
}

static void print_word(const char *what, size_t *n, const char *word)
{
    AUTO_FREE char *quoted = word_quote(word);
    if (has_place(what, n))
        print_escaped(quoted);
}

static void print_arguments(const struct app *a)
{
    size_t n = 0;
    for (char **word = a->argv + 1; *word; word++)
        print_word("            arguments: ", &n, *word);
    if (n)
        printf("\n");
}

static void print_given(const struct app *a)
{
    size_t n = 0;
    for (char **name = a->given_env; *name; name++) {
        const char *value = spawn_env_value(a->envp, *name);
        AUTO_FREE char *word = value ? text_format("%s=%s", *name, value) : NULL;
        if (word)
            print_word("            variables: ", &n, word);
    }
    if (n)
        printf("\n");
}

static void print_removed(const struct app *a)
{
    size_t n = 0;
    for (char **variable = environ; *variable; variable++) {
        AUTO_FREE char *name = must(strndup(*variable, strcspn(*variable, "=")));
        if (explain_is_removed(a, *variable))
            print_word("            without variables: ", &n, name);
    }
    if (n)
        printf("\n");
}

static void print_file(const struct app *a)
{
    struct error e;
    AUTO_FREE char *path = explain_file(a, &e);
    printf("            %s", path ? "file: " : "no file on this machine");
    if (path)
        print_escaped(path);
    printf("\n");
}

/* A limit that a cgroup can hold is held by it where the host gives the step one. */
static void print_foreseen_limits(const char *before, const struct limits *asked,
                                  enum limit_level level)
{
    struct limits l = *asked;
    bool is_cgroups = false;
    char text[LIMITS_TEXT];
    limits_forget_holders(&l);
    limits_hold_without_cgroup(&l, level);
    for (int k = 0; k < LIMIT_KIND_COUNT; k++)
        is_cgroups |= l.of[k].set && limit_words(k)->holders[level] & (1u << HELD_BY_CGROUP);
    report_limits_text(&l, level, text, sizeof(text));
    if (text[0])
        printf("%s%s%s\n", before, text,
               is_cgroups ? "; a cgroup holds memory and processes where the host gives one" : "");
}

static void print_programs(const struct step_plan *p)
{
    for (size_t i = 0; i < p->step.napps; i++) {
        const struct app *a = &p->step.apps[i];
        uint32_t n = rank_set_count(&a->ranks);
        char program[1000], directory[1000];
        text_escape(a->argv[0], strlen(a->argv[0]), program, sizeof(program));
        text_escape(a->directory, strlen(a->directory), directory, sizeof(directory));
        printf("program     %s: %u rank%s in %s\n", program, n, plural(n), directory);
        print_file(a);
        print_arguments(a);
        print_given(a);
        print_removed(a);
        if (!p->cmd->explain)
            print_foreseen_limits("            ", step_rank_limits(&p->step, a), LIMIT_OF_RANK);
    }
}

/* ---- all ------------------------------------------------------------------------------------- */

static void print_transport(const struct step_plan *p)
{
    static const char *const security[] = {[LINK_PLAIN] = "not encrypted",
                                           [LINK_ENCRYPT] = "encrypted",
                                           [LINK_MAC] = "authenticated and not encrypted"};
    const char *why = p->same_machine ? "all hosts are this machine" : "hosts are other machines";
    printf("transport   %s: %s", transport_words[p->transport],
           p->cmd->links.transport == TRANSPORT_AUTO ? why : "asked for with --transport");
    if (p->transport != TRANSPORT_UNIX)
        printf(", %s", security[p->cmd->links.security]);
    printf("\n");
}

void explain_print(const struct host_table *hosts, const struct step_record *record,
                   const struct starters *starters)
{
    const struct step_plan *p = hosts->plan;
    printf("adapter     %s: %s\n", p->adapter->name, p->adapter_reason);
    printf("placement   %s\n", p->placement.reason);
    if (p->cmd->explain) {
        print_transport(p);
        printf("starter     %s\n", p->starter_path ? p->starter_path : "not found");
    }
    for (size_t i = 0; i < p->nused; i++)
        print_host(record, hosts->used[i], starters);
    print_programs(p);
    print_limits("limits      ", &p->cmd->step_limits, LIMIT_OF_STEP);
    if (!p->cmd->explain)
        print_foreseen_limits("limits      ", &p->step.host_limits, LIMIT_OF_HOST);
}

/* ---- --display ------------------------------------------------------------------------------- */

void display_before_start(const struct host_table *hosts)
{
    const struct cmdline *c = hosts->plan->cmd;
    struct error e;
    struct topology *t = NULL;
    if (c->display_allocation)
        print_hosts(hosts);
    if (c->display_topology && (t = topology_load(NULL, &e)))
        topology_print(t, "", stdout);
    topology_destroy(t);
    fflush(stdout);
}
