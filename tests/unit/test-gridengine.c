/* SPDX-License-Identifier: BSD-3-Clause */
/* test-gridengine.c - when a job of Grid Engine is recognized, and what it was granted */
#include "rm-adapters/adapter.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "rm-adapters/gridengine/task-spool.h"

static const char *const variables[] = {"JOB_ID",      "SGE_TASK_ID",     "SGE_ROOT",
                                        "PE_HOSTFILE", "NSLOTS",          "SGE_JOB_SPOOL_DIR",
                                        "PE",          "SGE_BINARY_PATH", "QUEUE"};
static char directory[] = "/tmp/test-gridengine.XXXXXX";
static char file[64];

static int make_directory(void **state)
{
    if (!mkdtemp(directory))
        return -1;
    snprintf(file, sizeof(file), "%s/pe_hostfile", directory);
    return 0;
}

static int remove_directory(void **state)
{
    return rmdir(directory);
}

static void job(const char *id, const char *task, const char *pe_hostfile)
{
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
        unsetenv(variables[i]);
    if (id)
        setenv("JOB_ID", id, 1);
    if (task)
        setenv("SGE_TASK_ID", task, 1);
    if (pe_hostfile)
        setenv("PE_HOSTFILE", pe_hostfile, 1);
    setenv("SGE_ROOT", "/opt/sge", 1);
}

static int no_job(void **state)
{
    job(NULL, NULL, NULL);
    unsetenv("SGE_ROOT");
    unlink(file);
    return 0;
}

static void write_file(const char *text)
{
    FILE *f = fopen(file, "we");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void detected(const char *says)
{
    char reason[256];
    assert_int_equal(
        rm_adapter_gridengine.detect(&(struct host_request){0}, reason, sizeof(reason)), 1);
    assert_non_null(strstr(reason, says));
    assert_ptr_equal(rm_adapter_detect(&(struct host_request){0}, reason, sizeof(reason)),
                     &rm_adapter_gridengine);
}

static void not_detected(const char *says)
{
    char reason[256] = "x";
    assert_int_equal(
        rm_adapter_gridengine.detect(&(struct host_request){0}, reason, sizeof(reason)), 0);
    if (!*says)
        assert_string_equal(reason, "");
    else if (!strstr(reason, says))
        fail_msg("'%s' is not said, but '%s'", says, reason);
    assert_ptr_equal(rm_adapter_detect(&(struct host_request){0}, reason, sizeof(reason)),
                     *says ? &rm_adapter_other : &rm_adapter_local);
    if (!strstr(reason, says))
        fail_msg("'%s' is not said with the adapter that was found, but '%s'", says, reason);
}

static void stray_variables_make_no_job(void **state)
{
    not_detected("");
    job("12", NULL, NULL); /* a name that others use, too */
    not_detected("");
    job("12.pbs-server", "1", NULL);
    not_detected("JOB_ID is not set");
    job("12", "some", NULL);
    not_detected("SGE_TASK_ID is not set");
    job("12", "undefined", NULL);
    not_detected("neither PE_HOSTFILE nor SGE_JOB_SPOOL_DIR");
    unsetenv("SGE_ROOT");
    not_detected("SGE_ROOT is not set");
}

static void a_job_that_is_over_is_none(void **state)
{
    job("12", "undefined", file);
    not_detected("is not there: job 12 is over, or on another host");
    job("12", "undefined", NULL);
    setenv("SGE_JOB_SPOOL_DIR", file, 1);
    not_detected("is not there: job 12 is over, or on another host");
}

static void jobs_with_and_without_a_parallel_environment(void **state)
{
    write_file("n1 1 q UNDEFINED\n");
    job("12", "undefined", file);
    detected("job 12 of Grid Engine (JOB_ID, SGE_TASK_ID, PE_HOSTFILE)");
    job("12", "3", NULL);
    setenv("SGE_JOB_SPOOL_DIR", directory, 1);
    detected("job 12 of Grid Engine (JOB_ID, SGE_TASK_ID, no PE_HOSTFILE)");
}

static int read_granted(const struct host_request *request, struct allocation *a, struct error *err)
{
    *err = (struct error){.text = ""};
    return rm_adapter_gridengine.read_allocation(request, a, err);
}

static void queue_lines_of_a_host_are_one_host(void **state)
{
    struct allocation a;
    struct error err;
    write_file("n1 2 a.q@n1 0,0:0,1\nn2 1 a.q@n2 UNDEFINED\nn1 3 b.q@n1 1,0:1,1:1,2\n");
    job("12", "undefined", file);
    setenv("PE", "lab", 1);
    assert_int_equal(read_granted(&(struct host_request){.argument = NULL}, &a, &err), 0);
    assert_string_equal(a.job_id, "12");
    assert_string_equal(a.more, "qsub -pe lab");
    assert_false(a.may_oversubscribe);
    assert_int_equal(a.nhosts, 2);
    assert_string_equal(a.hosts[0].name, "n1");
    assert_int_equal(a.hosts[0].slots.value, 5);
    assert_string_equal(a.hosts[0].slots.source, "PE_HOSTFILE line 1, ...");
    assert_string_equal(a.hosts[0].core_list, "0,0:0,1:1,0:1,1:1,2");
    assert_string_equal(a.hosts[0].cores_source, "PE_HOSTFILE column 4");
    assert_int_equal(a.hosts[1].slots.value, 1);
    assert_string_equal(a.hosts[1].slots.source, "PE_HOSTFILE line 2");
    assert_null(a.hosts[1].core_list);
    assert_false(a.hosts[0].here);
    allocation_free(&a);
}

static void the_host_of_the_job_is_this_one(void **state)
{
    struct allocation a;
    struct error err;
    char name[256], text[300];
    assert_int_equal(gethostname(name, sizeof(name)), 0);
    snprintf(text, sizeof(text), "elsewhere 1 q UNDEFINED\n%s 1 q UNDEFINED\n", name);
    write_file(text);
    job("12", "7", file);
    assert_int_equal(read_granted(&(struct host_request){.argument = NULL}, &a, &err), 0);
    assert_string_equal(a.job_id, "12.7");
    assert_false(a.hosts[0].here);
    assert_true(a.hosts[1].here);
    allocation_free(&a);
    if (strchr(name, '.'))
        return;
    snprintf(text, sizeof(text), "%s.a.b 1 q UNDEFINED\n", name);
    write_file(text);
    assert_int_equal(read_granted(&(struct host_request){.argument = NULL}, &a, &err), 0);
    assert_true(a.hosts[0].here);
    allocation_free(&a);
}

static void a_job_without_a_parallel_environment_has_this_host(void **state)
{
    struct allocation a;
    struct error err;
    char name[256];
    assert_int_equal(gethostname(name, sizeof(name)), 0);
    job("12", "undefined", NULL);
    assert_int_equal(read_granted(&(struct host_request){.argument = NULL}, &a, &err), 0);
    assert_int_equal(a.nhosts, 1);
    assert_string_equal(a.hosts[0].name, name);
    assert_true(a.hosts[0].here);
    assert_int_equal(a.hosts[0].slots.value, 1);
    allocation_free(&a);
    setenv("NSLOTS", "3", 1);
    assert_int_equal(read_granted(&(struct host_request){.argument = NULL}, &a, &err), 0);
    assert_int_equal(a.hosts[0].slots.value, 3);
    assert_string_equal(a.hosts[0].slots.source, "NSLOTS, no parallel environment");
    allocation_free(&a);
    setenv("NSLOTS", "3x", 1);
    assert_int_equal(read_granted(&(struct host_request){.argument = NULL}, &a, &err), -1);
    assert_non_null(strstr(err.text, "NSLOTS: '3x'"));
}

static void a_task_without_the_hostfile_has_its_own_slots(void **state)
{
    struct allocation a;
    struct error err;
    job("12", "undefined", NULL);
    setenv("PE", "lab", 1);
    setenv("NSLOTS", "2", 1);
    assert_int_equal(read_granted(&(struct host_request){.argument = NULL}, &a, &err), 0);
    assert_int_equal(a.nhosts, 1);
    assert_int_equal(a.hosts[0].slots.value, 2);
    assert_string_equal(a.hosts[0].slots.source,
                        "of this task alone, as qrsh has set no PE_HOSTFILE");
    assert_string_equal(a.more, "");
    allocation_free(&a);
}

static void what_is_wrong_is_named(void **state)
{
    static const struct {
        const char *text, *says;
    } wrong[] = {
        {"n1 2 q UNDEFINED\nn2 two q UNDEFINED\n", "pe_hostfile' line 2: it is in Open MPI's"},
        {"n1 2 q UNDEFINED\nn2 0 q UNDEFINED\n", "pe_hostfile' line 2: slots"},
        {"n1 2 q\n", "pe_hostfile' line 1: it has less than the four columns"},
        {"n1 2 q all\n", "pe_hostfile' line 1: 'all' are no cores"},
        {"", "names no host"},
    };
    struct allocation a;
    struct error err;
    job("12", "undefined", file);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        write_file(wrong[i].text);
        assert_int_equal(read_granted(&(struct host_request){.argument = NULL}, &a, &err), -1);
        if (!strstr(err.text, wrong[i].says))
            fail_msg("'%s' is not said, but '%s'", wrong[i].says, err.text);
    }
    job("12", NULL, file);
    assert_int_equal(read_granted(&(struct host_request){.argument = NULL}, &a, &err), -1);
    assert_non_null(strstr(err.text, "SGE_TASK_ID is not set"));
    assert_int_equal(read_granted(&(struct host_request){.argument = "2"}, &a, &err), -1);
    assert_non_null(strstr(err.text, "takes no ':2'"));
}

static void named_hosts_are_chosen_from_the_grant(void **state)
{
    struct allocation a;
    struct error err;
    const char *list = "n3:1,n1", *stranger = "n1,n9", *more = "n1:3";
    struct host_request by_list = {.lists = &list, .nlists = 1};
    struct host_request by_file = {.files = (const char *[]){file}, .nfiles = 1};
    write_file("n1 2 q 0,0:0,1\nn2 2 q UNDEFINED\nn3 2 q UNDEFINED\n");
    job("12", "undefined", file);
    assert_int_equal(read_granted(&by_list, &a, &err), 0);
    assert_int_equal(a.nhosts, 2);
    assert_string_equal(a.hosts[0].name, "n3");
    assert_int_equal(a.hosts[0].slots.value, 1);
    assert_string_equal(a.hosts[1].name, "n1");
    assert_int_equal(a.hosts[1].slots.value, 2);
    assert_string_equal(a.hosts[1].core_list, "0,0:0,1");
    allocation_free(&a);
    assert_int_equal(read_granted(&by_file, &a, &err), 0); /* mprun -m $PE_HOSTFILE */
    assert_int_equal(allocation_slots(&a), 6);
    allocation_free(&a);
    by_list.lists = &stranger;
    assert_int_equal(read_granted(&by_list, &a, &err), -1);
    assert_non_null(strstr(err.text, "--host: 'n9' is no host of job 12"));
    by_list.lists = &more;
    assert_int_equal(read_granted(&by_list, &a, &err), -1);
    assert_non_null(strstr(err.text, "--host: 3 slots of 'n1', which has 2 (PE_HOSTFILE line 1)"));
}

static void says(const char *words, const char *advice)
{
    char buf[500];
    rm_adapter_gridengine.advise(words, buf, sizeof(buf));
    if (*advice ? !strstr(buf, advice) : *buf != 0)
        fail_msg("of '%s': '%s', not '%s'", words, buf, advice);
}

static void words_of_qrsh_are_followed_by_what_to_do(void **state)
{
    job("1", "undefined", file);
    setenv("QUEUE", "lab.q", 1);
    says("error: can't resolve host name", "name service");
    says("commlib error: got select error (Connection refused)", "no sge_execd answers there");
    says("qrsh_starter: executing child process /opt/mpstarter failed: No such file", "--prefix");
    says("qrsh_starter: executing child process method failed: No such file",
         "starter_method, which every host needs: 'qconf -sq lab.q'");
    says("qrsh_starter: cannot write pid file /tmp/1.1.lab.q/pid.1.n2: No space left on device",
         "files of its own into the job's directory on each host (TMPDIR)");
    says("qrsh_starter: cannot open file /tmp/1.1.lab.q/qrsh_error: Permission denied",
         "and ends the job where it cannot");
    says("error: got no connection within 60 seconds. \"Timeout occured while waiting for "
         "connection\"",
         "mprund does not answer on that host");
    says("qrsh_starter: cannot fork child process: Resource temporarily unavailable",
         "'qhost' shows");
    says("", "'qhost' shows");
    says("mpstarter: no memory", "");
}

static void a_connection_that_has_ended_already_is_no_reason(void **state)
{
    const struct rm_adapter *a = &rm_adapter_gridengine;
    assert_true(
        a->is_noise("error: commlib error: got pipe error (closing \"n2/shepherd_ijs/1\")"));
    assert_false(a->is_noise("error: commlib error: got pipe error (closing \"n0/qmaster/1\")"));
    assert_false(a->is_noise("error: commlib error: got select error (Connection refused)"));
    assert_false(a->is_noise(""));
}

/* As the execd has set both; the script may have changed them. */
static void tmpdirs(const char *tmpdir, const char *tmp)
{
    setenv("TMPDIR", tmpdir, 1);
    setenv("TMP", tmp, 1);
}

static void a_directory_of_the_job_that_cannot_be_written_takes_no_tasks(void **state)
{
    char own[80], fifth[80];
    struct error err;
    job("7", "undefined", NULL);
    setenv("QUEUE", "lab.q", 1);
    snprintf(own, sizeof(own), "%s/7.1.lab.q", directory);
    snprintf(fifth, sizeof(fifth), "%s/7.5.lab.q", directory);

    tmpdirs("/nowhere/7.2.lab.q", "7.1.lab.q"); /* neither is */
    assert_int_equal(gridengine_directory_takes_tasks(&err), 0);
    tmpdirs("/nowhere", own);
    assert_int_equal(gridengine_directory_takes_tasks(&err), -1);
    assert_int_equal(err.code, ENOENT);
    assert_non_null(strstr(err.text, own));
    assert_int_equal(mkdir(own, 0700), 0);
    assert_int_equal(gridengine_directory_takes_tasks(&err), 0);
    assert_int_equal(rmdir(own), 0); /* so nothing was left in it */

    setenv("SGE_TASK_ID", "5", 1);
    tmpdirs(fifth, "/tmp");
    assert_int_equal(symlink("/dev/null", fifth), 0);
    assert_int_equal(gridengine_directory_takes_tasks(&err), -1);
    assert_int_equal(err.code, ENOTDIR);
    assert_int_equal(unlink(fifth), 0);
    tmpdirs("/tmp", "/tmp");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(stray_variables_make_no_job, no_job),
        cmocka_unit_test_teardown(a_job_that_is_over_is_none, no_job),
        cmocka_unit_test_teardown(jobs_with_and_without_a_parallel_environment, no_job),
        cmocka_unit_test_teardown(queue_lines_of_a_host_are_one_host, no_job),
        cmocka_unit_test_teardown(the_host_of_the_job_is_this_one, no_job),
        cmocka_unit_test_teardown(a_job_without_a_parallel_environment_has_this_host, no_job),
        cmocka_unit_test_teardown(a_task_without_the_hostfile_has_its_own_slots, no_job),
        cmocka_unit_test_teardown(what_is_wrong_is_named, no_job),
        cmocka_unit_test_teardown(named_hosts_are_chosen_from_the_grant, no_job),
        cmocka_unit_test_teardown(a_directory_of_the_job_that_cannot_be_written_takes_no_tasks,
                                  no_job),
        cmocka_unit_test_teardown(words_of_qrsh_are_followed_by_what_to_do, no_job),
        cmocka_unit_test(a_connection_that_has_ended_already_is_no_reason),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
