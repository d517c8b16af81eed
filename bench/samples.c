/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include "samples.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "subject.h"

void
bench_samples_init(struct bench_samples *samples, const char *name,
                   size_t batch, size_t capacity)
{
    samples->name = name;
    samples->batch = batch;
    samples->count = 0;
    samples->capacity = capacity;
    samples->values = calloc(capacity, sizeof *samples->values);
    if (samples->values == NULL)
        bench_die("no memory");
}

void
bench_samples_free(struct bench_samples *samples)
{
    free(samples->values);
}

void
bench_samples_add(struct bench_samples *samples, double value)
{
    if (samples->count == samples->capacity)
        bench_die("%s: more values than announced", samples->name);
    samples->values[samples->count++] = value;
}

static int
compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;

    return (a > b) - (a < b);
}

double
bench_samples_quantile(const struct bench_samples *samples, double fraction)
{
    double *sorted;
    double value;

    if (samples->count == 0)
        bench_die("%s: no values", samples->name);
    sorted = malloc(samples->count * sizeof *sorted);
    if (sorted == NULL)
        bench_die("no memory");
    memcpy(sorted, samples->values, samples->count * sizeof *sorted);
    qsort(sorted, samples->count, sizeof *sorted, compare_doubles);
    value = sorted[(size_t)(fraction * (double)(samples->count - 1) + 0.5)];
    free(sorted);
    return value;
}

double
bench_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

void
bench_samples_json(const struct bench_samples *samples, FILE *out)
{
    size_t i;

    fprintf(out, "    {\"name\": \"%s\", \"batch\": %zu,\n", samples->name,
            samples->batch);
    fputs("     \"ns_per_round_trip\": [", out);
    for (i = 0; i < samples->count; i++)
        fprintf(out, "%s%.1f", i == 0 ? "" : ", ", samples->values[i]);
    fputs("]}", out);
}

/* Reads the value of the first "model name" line; "unknown" without one. */
static void
read_cpu_model(char *model, size_t size)
{
    FILE *info = fopen("/proc/cpuinfo", "r");
    char line[256];
    char *value;

    snprintf(model, size, "unknown");
    if (info == NULL)
        return;
    while (fgets(line, sizeof line, info) != NULL) {
        value = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || value == NULL)
            continue;
        value += strspn(value, ": \t");
        value[strcspn(value, "\n\"\\")] = '\0';
        snprintf(model, size, "%s", value);
        break;
    }
    fclose(info);
}

void
bench_machine_json(FILE *out)
{
    struct utsname system;
    char model[256];

    read_cpu_model(model, sizeof model);
    uname(&system);
    fprintf(out, "  \"cpu\": \"%s\",\n", model);
    fprintf(out, "  \"cpus_online\": %ld,\n", sysconf(_SC_NPROCESSORS_ONLN));
    fprintf(out, "  \"kernel\": \"%s %s %s\",\n", system.sysname,
            system.release, system.machine);
    fprintf(out, "  \"compiler\": \"%s\",\n", __VERSION__);
}

void
bench_machine_print(FILE *out)
{
    struct utsname system;
    char model[256];

    read_cpu_model(model, sizeof model);
    uname(&system);
    fprintf(out, "machine    %s, %ld CPUs, %s %s %s\n", model,
            sysconf(_SC_NPROCESSORS_ONLN), system.sysname, system.release,
            system.machine);
    fprintf(out, "toolchain  compiler %s\n", __VERSION__);
}
