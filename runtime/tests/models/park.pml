/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * How idle workers sleep and are woken (runtime/src/park.h, park.c, queue.c
 * and next_unit in pool.c): WORKERS workers, SUBMITTERS submitters with one
 * unit each and one that sends FIRST_SENDS, a futex, and units that may run
 * for ever.
 *
 * All protocol words are sequentially consistent in the code, so statements
 * interleave; one statement is one access. The weakened variants that drop
 * that (WEAK_PUSH, WEAK_ANNOUNCE) get a store buffer of one entry.
 *
 * Checked when nothing moves any more: no unit waits beside a sleeping
 * worker, even if every other worker is inside a unit that never ends
 * (idle_beside_unit); a unit is run once (run_once); the roles add up: what
 * `pollers` counts is a poller, a grant or nothing (poller_count).
 *
 * The WEAK_* variants must each be found; models.table names the violation.
 * These lines of the code are weak in them, for the mutants of it:
 *
 * weak in WEAK_PUSH: queue.c gst__queue_push GST_STORE_SEQ(&cell->turn, tail + 1)
 * weak in WEAK_ANNOUNCE: queue.c gst__queue_pop GST_LOAD_SEQ(&cell->turn)
 * weak in WEAK_READY_FIRST: queue.c gst__queue_ready GST_LOAD_SEQ(&cell_of(queue, head)->turn)
 */

#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef SUBMITTERS
#define SUBMITTERS 2
#endif
#ifndef FIRST_SENDS
#define FIRST_SENDS 2
#endif
#ifndef MAX_POLLERS
#define MAX_POLLERS 1
#endif
#define UNITS (FIRST_SENDS + SUBMITTERS - 1)

/* The queue: cell p is full when turn[p] is set. Positions do not wrap here. */
byte tail;
byte head;
bool turn[UNITS];

/* The park. */
byte pollers;
byte sleepers;
byte grants;

/* The futex: how many threads wait in the kernel; a wake moves one on. */
byte futex_waiters;
byte futex_woken;

/* Observers. */
bool ran[UNITS];
byte sent;

#ifdef WEAK_PUSH
chan push_buffer[SUBMITTERS] = [1] of { byte };
#endif
#ifdef WEAK_ANNOUNCE
chan announce_buffer[WORKERS] = [1] of { byte };
#endif

/* gst__park_wake. */
inline park_wake() {
    if
    :: pollers != 0
    :: else ->
        if
        :: sleepers == 0
        :: else ->
            if
#ifdef WEAK_WAKE_SWAP
            /* A plain look and a store in place of the compare-and-swap. */
            :: atomic { pollers == 0 -> skip }; pollers = 1; grant()
#else
            :: atomic { pollers == 0 -> pollers = 1 }; grant()
#endif
            :: pollers != 0
            fi
        fi
    fi
}

inline grant() {
#ifdef WEAK_WAKE_FIRST
    futex_wake();
    grants++
#else
    grants++;
    futex_wake()
#endif
}

inline futex_wake() {
    d_step {
        if
        :: futex_waiters > 0 -> futex_waiters--; futex_woken++
        :: else
        fi
    }
}

/* The kernel compares and queues in one step. */
inline futex_wait() {
    atomic {
        if
        :: grants == 0 ->
            futex_waiters++;
            waiting = true
        :: else
        fi
    };
    if
    :: waiting ->
end_asleep:
        atomic {
            futex_woken > 0 ->
            futex_woken--;
            waiting = false
        }
    :: else
    fi
}

/* gst__queue_pop: found and unit are set. */
inline pop() {
    do
    :: true ->
        at = head;
        if
        :: at < UNITS && turn[at] ->
            atomic {
                if
                :: head == at ->
                    head++; found = true; unit = at; at = 0; break
                :: else
                fi
            }
        :: else -> found = false; at = 0; break
        fi
    od
}

/* gst__queue_ready, then gst__park_wake: after a poller has found work. */
inline wake_for_more() {
    at = head;
    if
    :: at < UNITS && turn[at] -> at = 0; park_wake()
    :: else -> at = 0
    fi
}

inline poll_begin() {
    atomic {
        if
        :: pollers >= MAX_POLLERS -> poller = false
        :: else -> pollers++; poller = true
        fi
    }
}

inline announce() {
#ifdef WEAK_ANNOUNCE
    announce_buffer[me] ! 1
#else
    sleepers++
#endif
}

/* A read-modify-write waits for the thread's own earlier stores. */
inline retract() {
#ifdef WEAK_ANNOUNCE
    atomic { empty(announce_buffer[me]) -> sleepers-- }
#else
    sleepers--
#endif
}

/* gst__park_sleep: returns as a poller. */
inline park_sleep() {
    do
    :: atomic { grants > 0 -> grants-- }; break
    :: grants == 0 -> futex_wait()
    od;
    retract()
}

/* next_unit without its closing branch. */
inline next_unit() {
    pop();
    if
    :: found
    :: !found ->
        poll_begin();
        do
        :: true ->
            found = false;
            if
            :: poller ->
                pop();
#ifdef WEAK_READY_FIRST
                if
                :: found -> wake_for_more()
                :: else
                fi;
#endif
                pollers--
            :: else
            fi;
            if
            :: !found ->
#ifdef WEAK_LOOK_FIRST
                pop();
                if
                :: !found -> announce(); park_sleep(); poller = true
                :: else -> break
                fi
#else
                announce();
#ifndef WEAK_NO_RECHECK
                pop();
#endif
                if
                :: !found -> park_sleep(); poller = true
                :: else -> retract(); wake_on_found(); break
                fi
#endif
            :: else -> wake_on_found(); break
            fi
        od
    fi
}

inline wake_on_found() {
#if !defined(WEAK_NO_CHAIN) && !defined(WEAK_READY_FIRST)
    wake_for_more()
#else
    skip
#endif
}

active [WORKERS] proctype worker() {
    byte unit, at;
#ifdef WEAK_ANNOUNCE
    byte me = _pid;
#endif
    bool found, poller, waiting;

    do
    :: true ->
        next_unit();
        skip;
        d_step {
            assert(!ran[unit]); /* run_once */
            ran[unit] = true;
            /* What is over must not tell states apart. */
            unit = 0;
            found = false;
            poller = false
        };
        if
        :: true /* The unit ends. */
        :: true ->
end_running:
            false /* It never does. */
        fi
    od
}

proctype submitter(byte me; byte count) {
    byte at;

    do
    :: count > 0 ->
        atomic { at = tail; tail++ };
#ifdef WEAK_PUSH
        push_buffer[me] ! at;
        at = 0;
#else
        atomic { turn[at] = true; at = 0 };
#endif
        park_wake();
        count--
    :: else -> break
    od;
    sent++
}

#ifdef WEAK_PUSH
proctype push_drainer(byte me) {
    byte at;

end_drain:
    do
    :: atomic { push_buffer[me] ? at -> turn[at] = true; at = 0 }
    od
}
#endif

#ifdef WEAK_ANNOUNCE
proctype announce_drainer(byte me) {
    byte one;

end_drain:
    do
    :: atomic { announce_buffer[me] ? one -> sleepers++ }
    od
}
#endif

active proctype monitor() {
    /* Enabled only when no other process can move. */
end_monitor:
    timeout;
    assert(sent == SUBMITTERS);
    assert(head == tail || futex_waiters == 0); /* idle_beside_unit */
    assert(pollers == grants) /* poller_count */
}

init {
    byte i;

    atomic {
        run submitter(0, FIRST_SENDS);
        i = 1;
        do
        :: i < SUBMITTERS -> run submitter(i, 1); i++
        :: else -> break
        od;
#ifdef WEAK_PUSH
        i = 0;
        do
        :: i < SUBMITTERS -> run push_drainer(i); i++
        :: else -> break
        od;
#endif
#ifdef WEAK_ANNOUNCE
        i = 0;
        do
        :: i < WORKERS -> run announce_drainer(i); i++
        :: else -> break
        od;
#endif
        i = 0
    }
}
