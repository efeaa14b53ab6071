/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/processes/own-stack.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>

enum { STACK = 1024 * 1024, GUARD = 64 * 1024 };

static struct {
    int (*run)(int, char **);
    int argc, code;
    char **argv;
    ucontext_t before, own;
} self;

static void on_own_stack(void)
{
    self.code = self.run(self.argc, self.argv);
}

static void give_threads_as_much(void)
{
    pthread_attr_t a;
    if (pthread_attr_init(&a) != 0)
        return;
    if (pthread_attr_setstacksize(&a, STACK) == 0)
        pthread_setattr_default_np(&a);
    pthread_attr_destroy(&a);
}

int own_stack_run(int (*run)(int argc, char **argv), int argc, char **argv)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) < 0 || limit.rlim_cur >= STACK)
        return run(argc, argv);
    give_threads_as_much();
    char *stack = mmap(NULL, GUARD + STACK, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED || getcontext(&self.own) < 0)
        return run(argc, argv);
    mprotect(stack, GUARD, PROT_NONE);
    self.run = run;
    self.argc = argc;
    self.argv = argv;
    self.own.uc_stack.ss_sp = stack + GUARD;
    self.own.uc_stack.ss_size = STACK;
    self.own.uc_link = &self.before;
    makecontext(&self.own, on_own_stack, 0);
    swapcontext(&self.before, &self.own);
    return self.code;
}
