/* Whose turn it is: streams by the time their next event is due, or, unpaced, in rounds of one event each. */
#pragma once
#include <stdint.h>

enum { MAX_FD = 70000 };

typedef struct {
    int fd;
    char *in; /* received and not yet taken: requests, one after the other */
    size_t in_len, in_cap;
    char *out; /* what the socket did not take; while there is some, the stream stands still */
    size_t out_len, out_at;
    int answering, streaming, with_usage, all_written;
    int tokens, next_token, prompt_tokens;
    uint64_t id, due_ns;
    int heap_at, ready_at; /* place in either list; -1: not in it */
} Conn;

static Conn *heap[MAX_FD];  /* paced: by due time, the earliest first */
static Conn *ready[MAX_FD]; /* unpaced: streams that take turns, one event each */
static int heap_size, ready_size;

static void heap_place(int at, Conn *c) {
    heap[at] = c;
    c->heap_at = at;
}

static void heap_up(int at, Conn *c) {
    for (int parent; at > 0 && heap[parent = (at - 1) / 2]->due_ns > c->due_ns; at = parent)
        heap_place(at, heap[parent]);
    heap_place(at, c);
}

static void heap_down(int at, Conn *c) {
    for (int child; (child = 2 * at + 1) < heap_size; at = child) {
        if (child + 1 < heap_size && heap[child + 1]->due_ns < heap[child]->due_ns)
            child++;
        if (heap[child]->due_ns >= c->due_ns)
            break;
        heap_place(at, heap[child]);
    }
    heap_place(at, c);
}

static void heap_push(Conn *c) { heap_up(heap_size++, c); }

static void heap_remove(Conn *c) {
    int at = c->heap_at;
    Conn *last = heap[--heap_size];
    c->heap_at = -1;
    if (last == c)
        return;
    heap_down(at, last);
    heap_up(last->heap_at, last);
}

static void ready_push(Conn *c) {
    c->ready_at = ready_size;
    ready[ready_size++] = c;
}

static void ready_remove(Conn *c) {
    Conn *last = ready[--ready_size];
    ready[c->ready_at] = last;
    last->ready_at = c->ready_at;
    c->ready_at = -1;
}
