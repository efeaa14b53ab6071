/* SPDX-License-Identifier: BSD-3-Clause */
/* devices.c - v1: the files of the controller; v2: a program that the kernel asks at each open */
#include "containment/cgroup/devices.h"

#include <linux/bpf.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"

enum { BEFORE = 6, EACH = 3, TYPE = 0xffff }; /* instructions; the half that says which type */

/* Memory of the same size is in struct bpf_cgroup_dev_ctx: access and type, major, minor. */
#define INSN(code_, to, from, jump, value)                                                         \
    ((struct bpf_insn){                                                                            \
        .code = (code_), .dst_reg = (to), .src_reg = (from), .off = (jump), .imm = (value)})
#define LOAD(to, offset) INSN(BPF_LDX | BPF_MEM | BPF_W, to, BPF_REG_1, offset, 0)
#define SET(to, value)   INSN(BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value)
/* Skip the next instructions unless the register has this value, or if it has it. */
#define UNLESS(reg, value, skip) INSN(BPF_JMP | BPF_JNE | BPF_K, reg, 0, skip, value)
#define IF(reg, value, skip)     INSN(BPF_JMP | BPF_JEQ | BPF_K, reg, 0, skip, value)

static int bpf(enum bpf_cmd what, union bpf_attr *attr)
{
    return (int)syscall(SYS_bpf, what, attr, sizeof(*attr));
}

/* The program answers 1, and 0 for a device that is denied; block devices are never denied. */
static int load_program(const struct cgroup_device *device, size_t n)
{
    struct bpf_insn code[BEFORE + EACH * CGROUP_DEVICES_MAX + 2] = {
        LOAD(2, 0),
        INSN(BPF_ALU64 | BPF_AND | BPF_K, 2, 0, 0, TYPE),
        LOAD(3, 4),
        LOAD(4, 8),
        IF(2, BPF_DEVCG_DEV_CHAR, 1),
        SET(3, -1)};
    struct bpf_insn *at = code + BEFORE;
    *at++ = SET(0, 1);
    for (size_t i = 0; i < n && i < CGROUP_DEVICES_MAX; i++)
        if (device[i].is_denied) {
            *at++ = UNLESS(3, (int)device[i].major, 2);
            *at++ = UNLESS(4, (int)device[i].minor, 1);
            *at++ = SET(0, 0);
        }
    *at++ = INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
    union bpf_attr attr = {.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE,
                           .insns = (uintptr_t)code,
                           .insn_cnt = (uint32_t)(at - code),
                           .license = (uintptr_t) "BSD"};
    return bpf(BPF_PROG_LOAD, &attr);
}

/* Replaces the program before. Cgroups below may have others, but only root can attach them. */
static int attach(int cgroup, int program)
{
    union bpf_attr attr = {.target_fd = (uint32_t)cgroup,
                           .attach_bpf_fd = (uint32_t)program,
                           .attach_type = BPF_CGROUP_DEVICE,
                           .attach_flags = BPF_F_ALLOW_OVERRIDE};
    return bpf(BPF_PROG_ATTACH, &attr);
}

int at_hold_devices(struct cgroup_at d, int version, const struct cgroup_device *device, size_t n)
{
    char line[64];
    for (size_t i = 0; version == 1 && i < n; i++) {
        snprintf(line, sizeof(line), "c %u:%u rwm", device[i].major, device[i].minor);
        if (at_write(d, device[i].is_denied ? "devices.deny" : "devices.allow", line) < 0)
            return -1;
    }
    if (version == 1)
        return 0;
    AUTO_CLOSE int cgroup = at_open(d);
    AUTO_CLOSE int program = cgroup < 0 ? -1 : load_program(device, n);
    return program < 0 ? -1 : attach(cgroup, program);
}
