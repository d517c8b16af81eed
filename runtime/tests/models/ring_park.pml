/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The ring's publish and park handshake (docs/contract.md, i4.ring-record,
 * i4.ring-wake, i4.ring-overflow), WRITERS writers against one reader on a
 * ring of CAPACITY slots, with store buffers.
 *
 * Memory model. Every thread has two FIFO store buffers in front of memory:
 * one for record words (plain stores), one for atomic words (the sequence
 * words and `waiting`). A drainer moves the head of any buffer to memory at
 * any time. So a later load of the same thread may overtake its own earlier
 * store (x86-TSO), and plain and atomic stores may overtake each other unless
 * ordered, which is weaker than TSO:
 *   release store   enters the atomic buffer marked; it drains only when the
 *                   thread's record buffer is empty
 *   seq_cst store,  the thread waits until both of its buffers are empty,
 *   exchange        then acts on memory
 *   seq_cst fence   the thread waits until both of its buffers are empty
 * A load sees the thread's own buffered store first, then memory.
 *
 * Checked: no lost wake (a reader parked for ever while a record waits is an
 * invalid end state), every record arrives once and untorn, a slot is never
 * overwritten before it is freed, tokens never exceed the times `waiting` was
 * set, the overflow counter ends at the number of records read from the pipe.
 *
 * Both legal forms of each side are built in: seq_cst accesses, or release
 * and acquire with a fence between (WRITER_FENCE, READER_FENCE). The WEAK_*
 * variants must each be found; models.table names the violation.
 * These lines of the code are weak in them, for the mutants of it:
 *
 * weak in WEAK_WRITER: ring.c gst__ring_publish GST_STORE_SEQ(word64(slot, 0), position + 1)
 * weak in WEAK_WRITER: ring.c gst__ring_publish GST_LOAD_SEQ(waiting)
 */

#ifndef WRITERS
#define WRITERS 2
#endif
/* Records of the first writer and of each other one. */
#ifndef FIRST_SENDS
#define FIRST_SENDS 2
#endif
#ifndef OTHERS_SEND
#define OTHERS_SEND 1
#endif
#define CAPACITY 2
#define RECORDS (FIRST_SENDS + (WRITERS - 1) * OTHERS_SEND)
#define READER WRITERS
#define THREADS (WRITERS + 1)

/* Atomic words: the sequence word of slot s is word s. */
#define WAITING CAPACITY
#define WORDS (CAPACITY + 1)

#define NO_RECORD 255
#define TOKEN 254

byte word[WORDS];       /* memory: atomic words */
byte record[CAPACITY];  /* memory: record words */
byte tail;              /* next position to claim */
byte overflow;          /* the counter in the ring's header */

chan data_buffer[THREADS] = [2] of { byte, byte };       /* slot, value */
chan word_buffer[THREADS] = [2] of { byte, byte, byte }; /* word, value, rel */
chan pipe = [RECORDS + RECORDS] of { byte };

/* Observers, no part of the protocol. */
byte tokens;
byte times_waiting_set;
byte seen_by_pipe;
bool arrived[RECORDS];
bool freed[CAPACITY] = true;
byte done_writers;

/* Scratch of one d_step, no part of any state. */
hidden byte i_scan, a_scan, v_scan, r_scan;

#define DRAINED(t) (empty(data_buffer[t]) && empty(word_buffer[t]))

/* The weakened writer claims a position without looking at its slot. */
#ifdef WEAK_CLAIM
#define CLAIMABLE(seen, position) true
#else
#define CLAIMABLE(seen, position) (seen == position)
#endif

/* The weakened writer's sequence store does not wait for the record. */
#ifdef WEAK_RELEASE
#define RELEASE false
#else
#define RELEASE true
#endif

/*
 * Loads a word as thread t sees it. Two entries at most are buffered, so the
 * youngest store of t to that word is found by looking for both values that
 * can be in flight; a word's value only grows, except WAITING, which is never
 * loaded by a thread that has a buffered store to it except after a fence.
 */
inline load(t, w, into) {
    d_step {
        into = word[w];
        i_scan = 0;
        do
        :: i_scan < len(word_buffer[t]) ->
            word_buffer[t] ? a_scan, v_scan, r_scan;
            word_buffer[t] ! a_scan, v_scan, r_scan;
            if
            :: a_scan == w -> into = v_scan
            :: else
            fi;
            i_scan++
        :: else -> break
        od
    }
}

inline store_release(t, w, value) {
    word_buffer[t] ! w, value, RELEASE
}

inline store_seq_cst(t, w, value) {
    atomic { DRAINED(t) -> word[w] = value }
}

inline exchange_waiting(t, value, into) {
    atomic { DRAINED(t) -> into = word[WAITING]; word[WAITING] = value }
}

inline fence(t) {
    DRAINED(t)
}

inline publish(t, position) {
#if defined(WRITER_FENCE)
    store_release(t, position % CAPACITY, position + 1);
    fence(t)
#elif defined(WEAK_WRITER)
    store_release(t, position % CAPACITY, position + 1)
#else
    store_seq_cst(t, position % CAPACITY, position + 1)
#endif
}

inline wake(t) {
    load(t, WAITING, seen);
    if
    :: seen != 0 ->
#ifdef WEAK_EXCHANGE
        store_seq_cst(t, WAITING, 0);
#else
        exchange_waiting(t, 0, seen);
#endif
        if
        :: seen != 0 ->
            d_step {
                tokens++;
                assert(tokens <= times_waiting_set) /* tokens-bounded */
            };
            pipe ! TOKEN
        :: else
        fi
    :: else
    fi
}

/* Claims a position whose slot is free, or finds the ring full. */
inline claim(t, position, no_room) {
    do
    :: true ->
        d_step { position = tail; seen = 0 };
        load(t, position % CAPACITY, seen);
        if
        :: CLAIMABLE(seen, position) ->
            atomic {
                if
                :: tail == position -> tail++; no_room = false; break
                :: else
                fi
            }
        :: seen < position -> no_room = true; break
        :: else /* another writer was quicker: look again */
        fi
    od
}

proctype writer(byte t; byte mine; byte stop) {
    byte position;
    byte seen;
    bool no_room;

    do
    :: mine < stop ->
        claim(t, position, no_room);
        if
        :: no_room ->
            pipe ! mine;
            /* The counter is a release read-modify-write. */
            atomic { DRAINED(t) -> overflow++ }
        :: else ->
            d_step {
                assert(freed[position % CAPACITY]); /* slot-was-freed */
                freed[position % CAPACITY] = false
            };
            data_buffer[t] ! position % CAPACITY, mine;
            publish(t, position);
            wake(t)
        fi;
        mine++
    :: else -> break
    od;
    done_writers++
}

inline accept(value) {
    d_step {
        assert(value < RECORDS);    /* untorn */
        assert(!arrived[value]);    /* once */
        arrived[value] = true;
        got++
    }
}

inline set_waiting() {
    times_waiting_set++;
#if defined(READER_FENCE)
    store_release(READER, WAITING, 1);
    fence(READER)
#elif defined(WEAK_READER)
    store_release(READER, WAITING, 1)
#else
    store_seq_cst(READER, WAITING, 1)
#endif
}

proctype reader() {
    byte position = 0;
    byte got = 0;
    byte seen;
    byte value;

    do
    :: got == RECORDS -> break
    :: got < RECORDS ->
        load(READER, position % CAPACITY, seen);
        if
        :: seen == position + 1 ->
take_it:    skip;
#ifdef WEAK_FREE
            freed[position % CAPACITY] = true;
            store_release(READER, position % CAPACITY, position + CAPACITY);
            value = record[position % CAPACITY];
#else
            d_step {
                value = record[position % CAPACITY];
                freed[position % CAPACITY] = true
            };
            store_release(READER, position % CAPACITY, position + CAPACITY);
#endif
            accept(value);
            position++
        :: else ->
            set_waiting();
#ifndef WEAK_NO_RECHECK
            load(READER, position % CAPACITY, seen);
            if
            :: seen == position + 1 ->
                exchange_waiting(READER, 0, seen);
                goto take_it
            :: else
            fi;
#endif
            /* Parked: only the pipe ends the wait. */
            pipe ? value;
            exchange_waiting(READER, 0, seen);
            if
            :: value != TOKEN -> accept(value); seen_by_pipe++
            :: else
            fi
        fi
    od;
    /* Everything has arrived; what is left are tokens and the counter. */
    done_writers == WRITERS;
    do
    :: pipe ? [TOKEN] -> pipe ? TOKEN
    :: empty(pipe) -> break
    od;
    assert(overflow == seen_by_pipe) /* overflow-counted */
}

#define MAY_DRAIN(t)                                                        \
    (word_buffer[t] ? [_, _, false] ||                                      \
     (word_buffer[t] ? [_, _, true] && empty(data_buffer[t])))

/* Memory: moves one buffered store of thread t, whenever it likes. */
proctype drainer(byte t) {
    byte a, v;
    byte r;

end_drain:
    do
    :: atomic { data_buffer[t] ? a, v -> record[a] = v; a = 0; v = 0 }
    :: atomic { MAY_DRAIN(t) -> word_buffer[t] ? a, v, r; word[a] = v;
                a = 0; v = 0; r = false }
    od
}

init {
    byte i;

    atomic {
        i = 0;
        do
        :: i < CAPACITY -> word[i] = i; record[i] = NO_RECORD; i++
        :: else -> break
        od;
        run writer(0, 0, FIRST_SENDS);
        run drainer(0);
        i = 1;
        do
        :: i < WRITERS ->
            run writer(i, FIRST_SENDS + (i - 1) * OTHERS_SEND,
                       FIRST_SENDS + i * OTHERS_SEND);
            run drainer(i);
            i++
        :: else -> break
        od;
        run reader();
        run drainer(READER)
    }
}
