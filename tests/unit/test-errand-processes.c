/* SPDX-License-Identifier: BSD-3-Clause */
/* test-errand-processes.c - what the keeper starts for the worker: words, descriptors, answers */
#include "starter/errands/errand-processes.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "starter/keeper/keeper-channel.h"
#include "wire/messages/errand.h"
#include "wire/messages/frame.h"

static struct errand_processes errands;
static int reply_pair[2], in_pipe[2], out_pipe[2];

static int open_all(void **state)
{
    errands = (struct errand_processes){.umask = -1};
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, reply_pair) < 0 ||
           pipe2(in_pipe, O_CLOEXEC) < 0 || pipe2(out_pipe, O_CLOEXEC) < 0;
}

static int close_all(void **state)
{
    close(reply_pair[0]);
    close(reply_pair[1]);
    close(in_pipe[1]);
    close(out_pipe[0]);
    return 0;
}

/* Words as they are on the way; the last NUL is the compiler's. */
#define START(words) start(words, sizeof(words))

static struct errand_reply answer(void)
{
    struct errand_reply r;
    assert_int_equal(recv(reply_pair[1], &r, sizeof(r), MSG_DONTWAIT), sizeof(r));
    assert_int_equal(r.id, 7);
    return r;
}

static struct errand_reply start(const char *words, size_t n)
{
    struct errand_request q = {.id = 7};
    char request[sizeof(q) + ERRAND_WORDS_MAX + 100];
    int fds[3] = {in_pipe[0], out_pipe[1], dup(out_pipe[0])};
    memcpy(request, &q, sizeof(q));
    memcpy(request + sizeof(q), words, n);
    errand_process_start(&errands, request, sizeof(q) + n, fds, reply_pair[0]);
    for (int i = 0; i < 3; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    return answer();
}

static int end_of(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(errand_processes_have(&errands, pid));
    errand_process_ended(&errands, pid, status);
    assert_false(errand_processes_have(&errands, pid));
    return status;
}

static void it_has_its_arguments_and_input(void **state)
{
    char said[200] = "";
    setenv("OF_KEEPER", "kept", 1);
    struct errand_reply r = START("/bin/sh\0-c\0read x; echo \"$x $1 $OF_KEEPER\"; exit 3"
                                  "\0sh\0a b");
    assert_int_equal(r.what, ERRAND_HAS_PID);
    assert_int_equal(write(in_pipe[1], "input\n", 6), 6);
    int status = end_of((pid_t)r.value);
    assert_int_equal(WEXITSTATUS(status), 3);
    assert_true(read(out_pipe[0], said, sizeof(said) - 1) > 0);
    assert_string_equal(said, "input a b kept\n");
    r = answer();
    assert_int_equal(r.what, ERRAND_OVER);
    assert_int_equal(r.value, status);
    assert_int_equal(errands.n, 0);
}

static void it_has_the_umask_that_it_is_to_have(void **state)
{
    char said[20] = "";
    errands.umask = 0213;
    struct errand_reply r = START("/bin/sh\0-c\0umask");
    assert_int_equal(r.what, ERRAND_HAS_PID);
    end_of((pid_t)r.value);
    assert_true(read(out_pipe[0], said, sizeof(said) - 1) > 0);
    assert_string_equal(said, "0213\n");
}

static void what_cannot_be_executed_is_told(void **state)
{
    struct errand_reply r = START("/no/such/program");
    assert_int_equal(r.what, ERRAND_FAILED);
    assert_int_equal(r.value, ENOENT);
    assert_int_equal(errands.n, 0);
}

static void words_without_an_end_and_too_many_are_refused(void **state)
{
    char words[2 * 100];
    struct errand_reply r = start("/bin/true", 9);
    assert_int_equal(r.what, ERRAND_FAILED);
    assert_int_equal(r.value, EINVAL);
    for (size_t i = 0; i < sizeof(words); i += 2)
        memcpy(words + i, "x", 2);
    int fds[3] = {open("/dev/null", O_RDONLY | O_CLOEXEC), open("/dev/null", O_RDWR | O_CLOEXEC),
                  dup(out_pipe[0])};
    char request[sizeof(struct errand_request) + sizeof(words)];
    memcpy(request, &(struct errand_request){.id = 7}, sizeof(struct errand_request));
    memcpy(request + sizeof(struct errand_request), words, sizeof(words));
    errand_process_start(&errands, request, sizeof(request), fds, reply_pair[0]);
    assert_int_equal(answer().what, ERRAND_FAILED);
    for (int i = 0; i < 3; i++)
        close(fds[i]);
}

static void others_are_none(void **state)
{
    errand_process_ended(&errands, 1, 0);
    assert_false(errand_processes_have(&errands, 1));
}

static void what_a_worker_says_last_counts_although_an_answer_is_unread(void **state)
{
    char packet[KEEPER_PACKET + 1];
    int fds[FD_PACKET_FDS];
    end_of(START("/bin/false").value);
    keeper_tell(reply_pair[1], KEEPER_CLEANED, "");
    close(reply_pair[1]);
    reply_pair[1] = -1;
    assert_int_equal(keeper_receive(reply_pair[0], packet, fds), 1);
    assert_int_equal(packet[0], KEEPER_CLEANED);
    assert_int_equal(keeper_receive(reply_pair[0], packet, fds), 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, open_all, close_all)
    const struct CMUnitTest tests[] = {
        T(it_has_its_arguments_and_input),
        T(it_has_the_umask_that_it_is_to_have),
        T(what_cannot_be_executed_is_told),
        T(words_without_an_end_and_too_many_are_refused),
        T(others_are_none),
        T(what_a_worker_says_last_counts_although_an_answer_is_unread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
