/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include "breakpoint.h"

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct perf_event_attr attributes;
static int event = -1;

bool
conform_breakpoint_open(void)
{
    memset(&attributes, 0, sizeof attributes);
    attributes.type = PERF_TYPE_BREAKPOINT;
    attributes.size = sizeof attributes;
    attributes.bp_type = HW_BREAKPOINT_X;
    attributes.bp_addr = (uintptr_t)conform_breakpoint_open;
    attributes.bp_len = sizeof(long);
    attributes.sample_period = 1;
    attributes.sigtrap = 1;
    attributes.remove_on_exec = 1;
    attributes.exclude_kernel = 1;
    attributes.exclude_hv = 1;
    attributes.disabled = 1;
    event = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1,
                         PERF_FLAG_FD_CLOEXEC);
    return event >= 0;
}

void
conform_breakpoint_close(void)
{
    if (event >= 0)
        close(event);
    event = -1;
}

bool
conform_breakpoint_set(uintptr_t address)
{
    attributes.bp_addr = address;
    return ioctl(event, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attributes) == 0 &&
           ioctl(event, PERF_EVENT_IOC_ENABLE, 0) == 0;
}

void
conform_breakpoint_clear(void)
{
    (void)ioctl(event, PERF_EVENT_IOC_DISABLE, 0);
}
