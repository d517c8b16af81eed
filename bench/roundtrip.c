/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * roundtrip [--json FILE] - the median round trip of the ring's steady state
 * against the floor and the usual alternative, all measured in this run.
 *
 * The three subjects take turns, so that a change of the machine (frequency,
 * a neighbour) hits all of them. One value is the mean of a batch, because a
 * clock read costs a fifth of the shortest round trip; the verdict-free
 * figures are medians of these values and their ratios.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "floor.h"
#include "samples.h"
#include "subject.h"

#define ROUNDS 40
#define WARM_UP 2000
#define BATCHES_PER_ROUND 50
#define POLLED_BATCH 100
#define CONDVAR_BATCH 10
#define WATCHDOG_SECONDS 300

enum { RING, CACHE_LINE, CONDVAR, SUBJECTS };

struct contest {
    struct bench_subject subject;
    struct bench_floor *floor;
    struct bench_samples samples[SUBJECTS];
};

static void
run_batch(struct contest *contest, int which, size_t count)
{
    size_t i;

    switch (which) {
    case RING:
        for (i = 0; i < count; i++)
            bench_round_trip(&contest->subject);
        break;
    case CACHE_LINE:
        bench_floor_cache_line(contest->floor, count);
        break;
    default:
        bench_floor_condvar(contest->floor, count);
        break;
    }
}

static void
run_turn(struct contest *contest, int which)
{
    struct bench_samples *samples = &contest->samples[which];
    size_t i;
    double start;

    if (which == CACHE_LINE)
        bench_floor_begin(contest->floor);
    run_batch(contest, which, WARM_UP / (which == CONDVAR ? 100 : 1));
    for (i = 0; i < BATCHES_PER_ROUND; i++) {
        start = bench_now();
        run_batch(contest, which, samples->batch);
        bench_samples_add(samples,
                          (bench_now() - start) / (double)samples->batch);
    }
    if (which == CACHE_LINE)
        bench_floor_end(contest->floor);
}

static void
print_line(const struct contest *contest, int which)
{
    const struct bench_samples *samples = &contest->samples[which];
    double median = bench_samples_quantile(samples, 0.5);
    double line = bench_samples_quantile(&contest->samples[CACHE_LINE], 0.5);

    printf("%-24s median %9.0f ns   p10 %9.0f   p90 %9.0f   x %.2f\n",
           samples->name, median, bench_samples_quantile(samples, 0.1),
           bench_samples_quantile(samples, 0.9), median / line);
}

static void
write_json(const struct contest *contest, const char *path)
{
    FILE *out = fopen(path, "w");
    int which;

    if (out == NULL)
        bench_die("cannot write %s", path);
    fputs("{\n", out);
    bench_machine_json(out);
    fputs("  \"series\": [\n", out);
    for (which = 0; which < SUBJECTS; which++) {
        bench_samples_json(&contest->samples[which], out);
        fputs(which + 1 < SUBJECTS ? ",\n" : "\n", out);
    }
    fputs("  ]\n}\n", out);
    if (fclose(out) != 0)
        bench_die("cannot write %s", path);
}

int
main(int argc, char **argv)
{
    static const char *const names[SUBJECTS] = {
        "ring round trip", "cache-line ping-pong", "mutex+condvar ping-pong"};
    struct contest contest;
    int host_cpu;
    int partner_cpu;
    int round;
    int which;

    if (argc != 1 && (argc != 3 || strcmp(argv[1], "--json") != 0)) {
        fputs("usage: roundtrip [--json FILE]\n", stderr);
        return 2;
    }
    if (bench_pick_cpus(&host_cpu, &partner_cpu) != 0) {
        fputs("roundtrip: needs two CPUs, this process may use one\n", stderr);
        return 3;
    }
    /* A lost wake-up must end as a failure, not as a hang. */
    alarm(WATCHDOG_SECONDS);
    for (which = 0; which < SUBJECTS; which++)
        bench_samples_init(&contest.samples[which], names[which],
                           which == CONDVAR ? CONDVAR_BATCH : POLLED_BATCH,
                           (size_t)ROUNDS * BATCHES_PER_ROUND);
    bench_open(&contest.subject, host_cpu, partner_cpu);
    contest.floor = bench_floor_start(partner_cpu);
    for (round = 0; round < ROUNDS; round++)
        for (which = 0; which < SUBJECTS; which++)
            run_turn(&contest, which);
    bench_floor_stop(contest.floor);
    bench_close(&contest.subject);
    bench_machine_print(stdout);
    printf("method     %d rounds in turns, %d batches each, median of batch "
           "means; CPUs %d and %d\n",
           ROUNDS, BATCHES_PER_ROUND, host_cpu, partner_cpu);
    for (which = 0; which < SUBJECTS; which++)
        print_line(&contest, which);
    if (argc == 3)
        write_json(&contest, argv[2]);
    for (which = 0; which < SUBJECTS; which++)
        bench_samples_free(&contest.samples[which]);
    return 0;
}
