/* SPDX-License-Identifier: BSD-3-Clause */
/* test-slurm.c - when a job of Slurm is recognized, what it was granted, and what srun says */
#include "rm-adapters/adapter.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "rm-adapters/slurm/slurm-private.h"
#include "rm-adapters/slurm/srun-words.h"

extern char **environ;

static int no_job(void **state)
{
    for (size_t i = 0; environ[i];) {
        char name[64];
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(environ[i], "="), environ[i]);
        if (strncmp(name, "SLURM_", 6) != 0 || unsetenv(name) < 0)
            i++;
    }
    return 0;
}

static void job(const char *nodes, const char *cpus, const char *tasks)
{
    setenv("SLURM_JOB_ID", "12", 1);
    setenv("SLURM_JOB_NODELIST", nodes, 1);
    setenv("SLURM_JOB_CPUS_PER_NODE", cpus, 1);
    if (tasks)
        setenv("SLURM_TASKS_PER_NODE", tasks, 1);
}

/* "a:2,b:1 granted 2,2 from SOURCE" */
static void granted(const struct host_request *request, const char *expected)
{
    struct allocation a = {0};
    struct error e = {0};
    char text[512] = "";
    size_t n = 0;
    if (rm_adapter_slurm.read_allocation(request, &a, &e) < 0)
        fail_msg("%s", e.text);
    for (size_t i = 0; i < a.nhosts; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s:%u/%u", i ? "," : "",
                              a.hosts[i].name, a.hosts[i].slots.value, a.hosts[i].granted);
    snprintf(text + n, sizeof(text) - n, " %s; job %s, %u cores", a.hosts[0].slots.source, a.job_id,
             a.slot_cores);
    assert_string_equal(text, expected);
    allocation_free(&a);
}

static void refused(const struct host_request *request, const char *says)
{
    struct allocation a = {0};
    struct error e = {0};
    assert_int_equal(rm_adapter_slurm.read_allocation(request, &a, &e), -1);
    if (!strstr(e.text, says))
        fail_msg("'%s' is not said, but '%s'", says, e.text);
}

static const struct host_request nothing;

static void stray_variables_make_no_job(void **state)
{
    char reason[200] = "x";
    assert_false(rm_adapter_slurm.detect(&nothing, reason, sizeof(reason)));
    assert_string_equal(reason, "");
    setenv("SLURM_JOB_ID", "12", 1);
    assert_false(rm_adapter_slurm.detect(&nothing, reason, sizeof(reason)));
    assert_string_equal(reason, "SLURM_JOB_NODELIST is not set as in a job of Slurm");
    setenv("SLURM_JOB_ID", "twelve", 1);
    setenv("SLURM_JOB_NODELIST", "n1", 1);
    assert_false(rm_adapter_slurm.detect(&nothing, reason, sizeof(reason)));
    assert_string_equal(reason, "SLURM_JOB_ID is not set as in a job of Slurm");
    refused(&nothing, "SLURM_JOB_ID is not set as in a job of Slurm; start mprun from sbatch");
    setenv("SLURM_JOB_ID", "12", 1);
    assert_true(rm_adapter_slurm.detect(&nothing, reason, sizeof(reason)));
    assert_ptr_equal(rm_adapter_detect(&nothing, reason, sizeof(reason)), &rm_adapter_slurm);
    static const struct host_request none = {.no_manager = true};
    assert_ptr_equal(rm_adapter_detect(&none, reason, sizeof(reason)), &rm_adapter_local);
}

static void slots_are_the_tasks_of_each_node(void **state)
{
    job("n[1-2]", "4,1", NULL); /* a node with fewer CPUs than a task has */
    setenv("SLURM_CPUS_PER_TASK", "2", 1);
    granted(&nothing,
            "n1:2/4,n2:1/1 SLURM_JOB_CPUS_PER_NODE / SLURM_CPUS_PER_TASK; job 12, 2 cores");
    unsetenv("SLURM_CPUS_PER_TASK");
    job("n[1-2],m3", "2(x2),1", "2(x2),1");
    granted(&nothing, "n1:2/2,n2:2/2,m3:1/1 SLURM_TASKS_PER_NODE; job 12, 0 cores");
    job("n[01-03]", "8(x3)", "2,1(x2)");
    setenv("SLURM_CPUS_PER_TASK", "4", 1);
    granted(&nothing, "n01:2/8,n02:1/8,n03:1/8 SLURM_TASKS_PER_NODE; job 12, 4 cores");
}

static struct host_request naming(const char *const *names)
{
    return (struct host_request){.lists = names, .nlists = 1};
}

static void names_are_short_or_qualified(void **state)
{
    struct host_request one = naming((const char *[]){"n2.site"});
    job("n[1-3]", "2(x3)", "2(x3)");
    granted(&one, "n2:2/2 SLURM_TASKS_PER_NODE; job 12, 0 cores");
    job("n[1-2].site,n2.other", "2(x3)", "2(x3)");
    granted(&one, "n2.site:2/2 SLURM_TASKS_PER_NODE; job 12, 0 cores");
    one = naming((const char *[]){"N1:1"});
    granted(&one, "n1.site:1/2 --host; job 12, 0 cores");
    one = naming((const char *[]){"N1.SITE"});
    granted(&one, "n1.site:2/2 SLURM_TASKS_PER_NODE; job 12, 0 cores");
    one = naming((const char *[]){"n1.site,n1"});
    refused(&one, "'n1' is 'n1.site', which is named before; keep one name");
    one = naming((const char *[]){"n2"});
    refused(&one, "'n2' is no host of job 12");
    one = naming((const char *[]){"n1.other"});
    refused(&one, "'n1.other' is no host of job 12");
}

static void in_a_step_the_cpus_of_the_job_count(void **state)
{
    job("n[1-2]", "4(x2)", "1");
    setenv("SLURM_STEP_ID", "0", 1);
    granted(&nothing, "n1:4/4,n2:4/4 SLURM_JOB_CPUS_PER_NODE; job 12, 0 cores");
    /* a rank of mprun: the step is mprun's, and the tasks are the job's */
    setenv("MPRUN_STEP_ID", "abc", 1);
    setenv("SLURM_TASKS_PER_NODE", "1(x2)", 1);
    granted(&nothing, "n1:1/4,n2:1/4 SLURM_TASKS_PER_NODE; job 12, 0 cores");
    unsetenv("MPRUN_STEP_ID");
    setenv("SLURM_TASKS_PER_NODE", "1", 1);
    setenv("SLURM_CPUS_PER_TASK", "2", 1);
    granted(&nothing,
            "n1:2/4,n2:2/4 SLURM_JOB_CPUS_PER_NODE / SLURM_CPUS_PER_TASK; job 12, 2 cores");
    setenv("SLURM_STEP_TASKS_PER_NODE", "1", 1);
    granted(&nothing,
            "n1:2/4,n2:2/4 SLURM_JOB_CPUS_PER_NODE / SLURM_CPUS_PER_TASK; job 12, 2 cores");
    /* a rank of mprun --as srun, which srun has not started */
    unsetenv("SLURM_STEP_ID");
    setenv("MPRUN_STEP_ID", "abc", 1);
    granted(&nothing,
            "n1:2/4,n2:2/4 SLURM_JOB_CPUS_PER_NODE / SLURM_CPUS_PER_TASK; job 12, 2 cores");
    unsetenv("MPRUN_STEP_ID");
    setenv("SLURM_STEP_ID", "0", 1);
    /* a new job of an salloc that was called in a step: the step's variables are stale */
    setenv("SLURM_TASKS_PER_NODE", "2(x2)", 1);
    granted(&nothing, "n1:2/4,n2:2/4 SLURM_TASKS_PER_NODE; job 12, 2 cores");
    /* the interactive step of salloc */
    setenv("SLURM_STEP_ID", "4294967290", 1);
    setenv("SLURM_TASKS_PER_NODE", "1(x2)", 1);
    setenv("SLURM_STEP_TASKS_PER_NODE", "1(x2)", 1);
    granted(&nothing, "n1:1/4,n2:1/4 SLURM_TASKS_PER_NODE; job 12, 2 cores");
}

static void a_heterogeneous_job_has_components(void **state)
{
    job("n1", "2", "2");
    setenv("SLURM_HET_SIZE", "2", 1);
    setenv("SLURM_JOB_NODELIST_HET_GROUP_1", "n[2-3]", 1);
    setenv("SLURM_JOB_CPUS_PER_NODE_HET_GROUP_1", "4(x2)", 1);
    setenv("SLURM_TASKS_PER_NODE_HET_GROUP_1", "3,1", 1);
    refused(&nothing, "job 12 is heterogeneous, with 2 components; a step runs in one of them: "
                      "choose it with '--rm slurm:0' to '--rm slurm:1'");
    granted(&(struct host_request){.argument = "1"},
            "n2:3/4,n3:1/4 SLURM_TASKS_PER_NODE_HET_GROUP_1; job 12+1, 0 cores");
    refused(&(struct host_request){.argument = "2"}, "'2' is too large");
    unsetenv("SLURM_HET_SIZE");
    refused(&(struct host_request){.argument = "1"}, "which this job is not");
}

static void numbers_that_do_not_fit_are_refused(void **state)
{
    static const char *const wrong[] = {"2",    "2(x3)",   "2(x2),",   "0(x2)",    "2(x0)",
                                        "x",    "2(x2),1", "2(2)",     "-1(x2)",   "2,,2",
                                        ",2,2", "2(x2",    "99999999", "2(x2)junk"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        job("n[1-2]", wrong[i], NULL);
        refused(&nothing, "SLURM_JOB_CPUS_PER_NODE is '");
    }
    job("n[1-", "2", NULL);
    refused(&nothing, "SLURM_JOB_NODELIST: ");
    job("n[1-2]", "2(x2)", "1(x2)");
    setenv("SLURM_CPUS_PER_TASK", "none", 1);
    refused(&nothing, "SLURM_CPUS_PER_TASK");
}

/* ---- srun ------------------------------------------------------------------------------------ */

static void ended(const char *line, const char *tasks, int status)
{
    struct srun_line l;
    srun_line_read(line, &l);
    assert_int_equal(l.says, SRUN_TASKS_ENDED);
    char *list = idset_format(&l.tasks);
    assert_string_equal(list, tasks);
    free(list);
    assert_int_equal(l.status, status);
    idset_free(&l.tasks);
}

static void said(const char *line, enum srun_says says, size_t task, const char *text)
{
    struct srun_line l;
    srun_line_read(line, &l);
    assert_int_equal(l.says, says);
    if (says == SRUN_TASK_SAID)
        assert_int_equal(l.task, task);
    assert_string_equal(l.text, text);
    idset_free(&l.tasks);
}

static void lines_of_srun(void **state)
{
    ended("srun: error: n3: task 2: Killed", "2", SIGKILL);
    ended("srun: error: n[1-3,7]: tasks 0-2,5: Exited with exit code 125", "0-2,5",
          W_EXITCODE(125, 0));
    ended("srun: error: n1: task 0: Out Of Memory", "0", SIGKILL);
    ended("srun: error: n1: task 0: Segmentation fault (core dumped)", "0", SIGSEGV);
    char line[4096] = "srun: error: n[1-999]: tasks 0", tasks[4096] = "0";
    for (int i = 2; i < 999; i += 2) /* of each second node */
        snprintf(line + strlen(line), 8, ",%d", i), snprintf(tasks + strlen(tasks), 8, ",%d", i);
    ended(strcat(line, ": Killed"), tasks, SIGKILL);
    said("3: mpstarter: on n4: no", SRUN_TASK_SAID, 3, "mpstarter: on n4: no");
    said(" 12: x: y", SRUN_TASK_SAID, 12, "x: y");
    said("srun: error: Unable to create step for job 9: no", SRUN_SAID, 0,
         "Unable to create step for job 9: no");
    said("srun: error: n1: task 0: Improvised", SRUN_SAID, 0, "n1: task 0: Improvised");
    said("srun: error: n1: tasks 3-1: Killed", SRUN_SAID, 0, "n1: tasks 3-1: Killed");
    said("12:no blank", SRUN_SAID, 0, "12:no blank");
    said("", SRUN_SAID, 0, "");
    assert_true(srun_text_has_name("failed on node n1: refused", "n1"));
    assert_true(srun_text_has_name("Node failure on n1", "n1"));
    assert_false(srun_text_has_name("failed on node n12: refused", "n1"));
    assert_false(srun_text_has_name("failed on node in1: refused", "n1"));
    assert_true(srun_text_has_name("n12 and n1.", "n1"));
}

/* For a step on n1 and n2: "--gres", or the GPUs of each host. */
static void gres_is(const char *answer, const char *expected)
{
    struct allocation a = {.job_id = "7"};
    struct step_gres g;
    char text[64] = "";
    allocation_add_host(&a, "n1");
    allocation_add_host(&a, "n2");
    slurm_gres_of_answer(answer, &a, &g);
    assert_true(!g.all || !g.gpus);
    if (g.gpus)
        snprintf(text, sizeof(text), "%u, %u", g.gpus[0], g.gpus[1]);
    assert_string_equal(g.all ? g.all : text, expected);
    step_gres_free(&g);
    allocation_free(&a);
}

static void gpus_are_asked_for_on_all_nodes_or_on_each(void **state)
{
    gres_is(
        "   JOB_GRES=gpu:4\n     Nodes=n[1-2] CPU_IDs=0-1 Mem=0 GRES=gpu:lab:2(IDX:0-1)\n   A=B\n",
        "gpu:2");
    gres_is("  Nodes=n1 Mem=0 GRES=gpu:a:1(IDX:0),gpu:b:2(IDX:1,3),nvme:1(CNT:1)\n  Nodes=n2 Mem=0 "
            "GRES=nvme:1(CNT:1),gpu:a:3(IDX:0-2)",
            "nvme:1,gpu:3");
    gres_is("  Nodes=n[1,3] GRES=gpu:2(IDX:0-1)\n  Nodes=n2 Mem=0 GRES=gpu:1(IDX:0)\n", "2, 1");
    gres_is("  Nodes=n1 Mem=0 GRES=gpu:2(IDX:0-1)\n  Nodes=n2 Mem=0 GRES=\n", "2, 0");
    gres_is("  Nodes=n1 Mem=0\n GRES=gpu:2\n", "");
    gres_is("slurm_load_jobs error: Invalid job id specified\n", "");
    gres_is(" Nodes=n1 GRES=gpu:2(IDX", "gpu:2");
    gres_is(" Nodes=n1 GRES=gpu:", "");
    /* of an array's last task, as the array has its number */
    gres_is("JobId=5 ArrayJobId=7 A=B\n  Nodes=n2 GRES=gpu:4(IDX:1-4)\n\nJobId=7 ArrayJobId=7 A=B\n"
            "  Nodes=n[1-2] GRES=gpu:1(IDX:0)\n\nJobId=6 ArrayJobId=7 A=B\n  Nodes=n2 GRES=\n",
            "gpu:1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(stray_variables_make_no_job, no_job),
        cmocka_unit_test_setup(slots_are_the_tasks_of_each_node, no_job),
        cmocka_unit_test_setup(names_are_short_or_qualified, no_job),
        cmocka_unit_test_setup(in_a_step_the_cpus_of_the_job_count, no_job),
        cmocka_unit_test_setup(a_heterogeneous_job_has_components, no_job),
        cmocka_unit_test_setup(numbers_that_do_not_fit_are_refused, no_job),
        cmocka_unit_test(gpus_are_asked_for_on_all_nodes_or_on_each),
        cmocka_unit_test(lines_of_srun),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
