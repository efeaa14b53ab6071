/* SPDX-License-Identifier: BSD-3-Clause */
/* test-listen.c - the launcher's door: who has the key gets in beside any number of others */
#include "wire/link/listener.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/listen-tcp.h"
#include "tests/unit/patience.h"
#include "wire/link/key-proof.h"
#include "wire/transport/dial.h"

static const uint8_t key[LINK_KEY] = "the key of a step, 32 bytes long";
static const uint8_t wrong[LINK_KEY] = "the key of a step, 32 bytes lonG";

enum { HOSTS = 256 };

struct door {
    struct loop *loop;
    struct listener *listener;
    char address[ADDRESS_TEXT];
    struct link *hosts[HOSTS];
    size_t narrived, nrefused;
    size_t want_arrived, want_refused; /* the loop stops there */
    struct error last;
    /* connectors of the test */
    struct link *links[2 * HOSTS];
    size_t nlinks, nopened, nclosed;
};

static void look(struct door *d)
{
    if (d->narrived >= d->want_arrived && d->nrefused >= d->want_refused)
        loop_stop(d->loop);
}

static int arrived(void *arg, struct link *l, uint32_t host_id, struct error *why)
{
    static const struct link_events none;
    struct door *d = arg;
    if (host_id >= HOSTS)
        return error_set(why, EINVAL, "there is no host %u", host_id);
    if (d->hosts[host_id])
        return error_set(why, EBUSY, "host %u is taken already", host_id);
    d->hosts[host_id] = l;
    link_set_events(l, &none, d);
    d->narrived++;
    look(d);
    return 0;
}

static void refused(void *arg, const char *peer, const struct error *why)
{
    struct door *d = arg;
    assert_true(peer[0] && why->text[0]);
    d->last = *why;
    d->nrefused++;
    look(d);
}

static const struct listen_events listen_events = {.arrived = arrived, .refused = refused};

static void too_long(void *arg)
{
    fprintf(stderr, "test-listen: nothing happened for %g s\n", patience(20));
    abort();
}

static void run_until(struct door *d, size_t arrivals, size_t refusals)
{
    struct loop_timer t;
    loop_timer_init(&t, d->loop, too_long, NULL);
    d->want_arrived = arrivals;
    d->want_refused = refusals;
    loop_timer_start(&t, patience(20), 0);
    loop_run(d->loop);
    loop_timer_stop(&t);
}

static struct door *open_door(int encrypt)
{
    struct door *d = calloc(1, sizeof(*d));
    struct error e;
    d->loop = loop_create(&e);
    int fd = listen_tcp("127.0.0.1", d->address, &e);
    assert_true(fd >= 0);
    d->listener = listener_create(d->loop, fd, key, encrypt, &listen_events, d);
    return d;
}

static void close_door(struct door *d)
{
    for (size_t i = 0; i < d->nlinks; i++)
        link_destroy(d->links[i]);
    for (size_t i = 0; i < HOSTS; i++)
        link_destroy(d->hosts[i]);
    listener_destroy(d->listener);
    loop_destroy(d->loop);
    free(d);
}

static int knock(const struct door *d)
{
    struct error e;
    int fd = dial_wait(d->address, 5, &e);
    if (fd < 0)
        fail_msg("%s", e.text);
    return fd;
}

static int opened(void *arg, struct link *l, uint32_t host_id, struct error *why)
{
    ((struct door *)arg)->nopened++;
    return 0;
}

static void closed(void *arg, struct link *l, const struct error *why)
{
    ((struct door *)arg)->nclosed++;
}

static void frame(void *arg, struct link *l, enum frame_type type, const uint8_t *p, size_t n)
{
}

static void starter(struct door *d, const uint8_t *with_key, uint32_t host_id, int encrypt)
{
    static const struct link_events events = {.opened = opened, .frame = frame, .closed = closed};
    struct link_options o = {
        .role = LINK_CONNECTOR, .key = with_key, .host_id = host_id, .security = encrypt};
    int fd = knock(d);
    struct link *l = link_create(d->loop, fd, fd, &o, "mprun", &events, d, NULL);
    assert_non_null(l);
    d->links[d->nlinks++] = l;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void a_starter_gets_in(void **state)
{
    for (int encrypt = 0; encrypt < 2; encrypt++) {
        struct door *d = open_door(encrypt);
        starter(d, key, 5, encrypt);
        run_until(d, 1, 0);
        assert_non_null(d->hosts[5]);
        close_door(d);
    }
}

static void a_wrong_key_does_not(void **state)
{
    struct door *d = open_door(0);
    starter(d, wrong, 5, 0);
    run_until(d, 0, 1);
    assert_int_equal(d->narrived, 0);
    close_door(d);
}

static void a_host_is_taken_once(void **state)
{
    struct door *d = open_door(0);
    starter(d, key, 5, 0);
    run_until(d, 1, 0);
    struct link *first = d->hosts[5];
    starter(d, key, 5, 0);
    starter(d, key, 1000, 0);
    run_until(d, 1, 2);
    assert_ptr_equal(d->hosts[5], first);
    assert_true(link_is_open(first));
    assert_int_equal(d->narrived, 1);
    close_door(d);
}

static void a_claim_under_way_does_not_shut_the_true_one_out(void **state)
{
    struct door *d = open_door(0);
    starter(d, wrong, 5, 0); /* says "host 5" first, and cannot prove it */
    starter(d, key, 5, 0);
    run_until(d, 1, 1);
    assert_non_null(d->hosts[5]);
    close_door(d);
}

static void garbage_is_refused_at_once(void **state)
{
    struct door *d = open_door(1);
    char junk[1000];
    memset(junk, 'x', sizeof(junk));
    int fd = knock(d);
    assert_int_equal(write(fd, junk, sizeof(junk)), sizeof(junk));
    run_until(d, 0, 1);
    assert_non_null(strstr(d->last.text, "does not speak"));
    close(fd);
    close_door(d);
}

static void a_silent_peer_is_refused_after_a_while(void **state)
{
    struct door *d = open_door(0);
    double begin = loop_now();
    int fd = knock(d);
    starter(d, key, 5, 0); /* nobody waits for it */
    run_until(d, 1, 0);
    assert_true(loop_now() - begin < patience(4));
    run_until(d, 1, 1);
    assert_int_equal(d->last.code, ETIMEDOUT);
    char c;
    assert_int_equal(read(fd, &c, 1), 0);
    close(fd);
    close_door(d);
}

static void many_starters_at_once_all_get_in(void **state)
{
    struct door *d = open_door(1);
    for (uint32_t i = 0; i < HOSTS; i++)
        starter(d, key, i, 1);
    run_until(d, HOSTS, 0);
    assert_int_equal(d->nrefused, 0);
    close_door(d);
}

static void a_starter_gets_in_past_200_silent_peers(void **state)
{
    struct door *d = open_door(0);
    int silent[200];
    double begin = loop_now();
    for (int i = 0; i < 200; i++)
        silent[i] = knock(d);
    starter(d, key, 5, 0);
    run_until(d, 1, 0);
    /* three times LISTEN_PENDING peers had to have their time */
    assert_true(loop_now() - begin < patience(8));
    assert_non_null(d->hosts[5]);
    for (int i = 0; i < 200; i++)
        close(silent[i]);
    close_door(d);
}

static void where_many_are_expected_nobody_is_refused_for_their_number(void **state)
{
    struct door *d = open_door(0);
    int silent[200];
    listener_expect(d->listener, 201);
    for (int i = 0; i < 200; i++)
        silent[i] = knock(d);
    starter(d, key, 5, 0);
    run_until(d, 1, 0);
    assert_int_equal(d->nrefused, 0);
    for (int i = 0; i < 200; i++)
        close(silent[i]);
    close_door(d);
}

static void a_door_without_descriptors_does_not_spin(void **state)
{
    struct door *d = open_door(0);
    struct rlimit old, few;
    struct rusage before, after;
    int fd = knock(d);
    getrlimit(RLIMIT_NOFILE, &old);
    few = old;
    few.rlim_cur = (rlim_t)fd + 1;
    setrlimit(RLIMIT_NOFILE, &few);
    struct loop_timer t;
    loop_timer_init(&t, d->loop, (loop_fn)loop_stop, d->loop);
    loop_timer_start(&t, 0.5, 0);
    getrusage(RUSAGE_SELF, &before);
    loop_run(d->loop);
    getrusage(RUSAGE_SELF, &after);
    setrlimit(RLIMIT_NOFILE, &old);
    double used = (double)(after.ru_utime.tv_sec - before.ru_utime.tv_sec) +
                  (double)(after.ru_stime.tv_sec - before.ru_stime.tv_sec) +
                  1e-6 * (double)(after.ru_utime.tv_usec - before.ru_utime.tv_usec) +
                  1e-6 * (double)(after.ru_stime.tv_usec - before.ru_stime.tv_usec);
    assert_true(used < 0.1);
    assert_int_equal(write(fd, "garbage, and enough of it to fill the first message of it", 57),
                     57);
    run_until(d, 0, 1); /* with descriptors again it is heard */
    loop_timer_stop(&t);
    close(fd);
    close_door(d);
}

static int init(void **state)
{
    struct error e;
    signal(SIGPIPE, SIG_IGN);
    return handshake_library_init(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_starter_gets_in),
        cmocka_unit_test(a_wrong_key_does_not),
        cmocka_unit_test(a_host_is_taken_once),
        cmocka_unit_test(a_claim_under_way_does_not_shut_the_true_one_out),
        cmocka_unit_test(garbage_is_refused_at_once),
        cmocka_unit_test(a_silent_peer_is_refused_after_a_while),
        cmocka_unit_test(many_starters_at_once_all_get_in),
        cmocka_unit_test(a_starter_gets_in_past_200_silent_peers),
        cmocka_unit_test(where_many_are_expected_nobody_is_refused_for_their_number),
        cmocka_unit_test(a_door_without_descriptors_does_not_spin),
    };
    return cmocka_run_group_tests(tests, init, NULL);
}
