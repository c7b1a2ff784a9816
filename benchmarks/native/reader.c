/*
 * The least a client can do, made to measure others by: receives, takes a stamp, finds the end, sends the next.
 *
 *     gcc -O2 -o reader reader.c
 *     ./reader PORT STREAMS REQUESTS STREAMING(0|1) TOKENS
 *
 * A closed loop in one epoll thread: STREAMS connections to 127.0.0.1:PORT, each with one request in flight, until
 * REQUESTS have been answered. Prints one line of JSON: wall time, rates, CPU time, and TTFT, gaps between reads and
 * latency in ms (percentile = value at rank ceil(q * n)).
 *
 * It trusts the endpoint beside it: one status, headers in lower case, and no payload that ends a read with the five
 * bytes of an HTTP last chunk. A real client can't, and that is part of what it costs.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS = 1024, BUFFER = 1 << 18, TAIL = 5 };

typedef struct {
    int fd;
    int reads;                          /* of the response being received */
    uint64_t sent_ns, first_ns, last_ns;
    char tail[TAIL];                    /* the last bytes of a stream, across reads */
    size_t received, expected;          /* of a response with a length */
} Conn;

typedef struct {
    uint32_t *ns; /* 4.2 s at most: longer ones are cut there */
    size_t count, room;
} Times;

static char request[4096];
static size_t request_len;

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static Times room_for(size_t room) {
    Times times = {.ns = malloc(room * sizeof(uint32_t) + 1), .room = room};
    return times;
}

static void add(Times *times, uint64_t ns) {
    if (times->count < times->room)
        times->ns[times->count++] = ns > UINT32_MAX ? UINT32_MAX : (uint32_t)ns;
}

static int ascending(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static double at_rank(const Times *times, size_t per_thousand) {
    size_t rank = (times->count * per_thousand + 999) / 1000;
    return times->ns[rank ? rank - 1 : 0] / 1e6;
}

static void print_times(const char *name, Times *times) {
    if (!times->count) {
        printf(", \"%s\": null", name);
        return;
    }
    qsort(times->ns, times->count, sizeof(uint32_t), ascending);
    printf(", \"%s\": {\"p50\": %.4f, \"p99\": %.4f, \"max\": %.4f}", name, at_rank(times, 500), at_rank(times, 990),
           at_rank(times, 1000));
}

static void write_request(int port, int streaming, int tokens) {
    char body[2048];
    int len = snprintf(body, sizeof body,
                       "{\"model\":\"fast-model\",\"messages\":[{\"role\":\"user\",\"content\":\"Explain to a "
                       "ten-year-old why the sky turns red.\"}],\"max_tokens\":%d,\"temperature\":0.0,\"stream\":%s}",
                       tokens, streaming ? "true,\"stream_options\":{\"include_usage\":true}" : "false");
    request_len = (size_t)snprintf(request, sizeof request,
                                   "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: "
                                   "application/json\r\nAccept: */*\r\nAuthorization: Bearer none\r\n"
                                   "Content-Length: %d\r\n\r\n%s",
                                   port, len, body);
}

static void give_up(const char *what) {
    fprintf(stderr, "reader: %s: %s\n", what, errno ? strerror(errno) : "the endpoint closed the connection");
    exit(1);
}

static int connect_to(int port) {
    static const int on = 1;
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to))
        give_up("cannot connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

static void send_request(Conn *c) {
    c->reads = 0;
    c->sent_ns = now_ns();
    if (send(c->fd, request, request_len, MSG_NOSIGNAL) != (ssize_t)request_len)
        give_up("cannot send");
}

/* Whether a stream is over: its last bytes, wherever reads were cut, are those of a last chunk. */
static int stream_ends(Conn *c, const char *data, size_t len) {
    if (len >= TAIL)
        memcpy(c->tail, data + len - TAIL, TAIL);
    else {
        memmove(c->tail, c->tail + len, TAIL - len);
        memcpy(c->tail + TAIL - len, data, len);
    }
    return memcmp(c->tail, "0\r\n\r\n", TAIL) == 0;
}

/* Whether a response with a length is whole; its head comes in the first read. */
static int whole(Conn *c, const char *data, size_t len) {
    if (c->reads == 1) {
        const char *length = memmem(data, len, "content-length: ", 16), *blank = memmem(data, len, "\r\n\r\n", 4);
        if (!length || !blank)
            give_up("no content-length in the first read");
        c->expected = (size_t)(blank + 4 - data) + strtoul(length + 16, NULL, 10);
        c->received = 0;
    }
    c->received += len;
    return c->received >= c->expected;
}

int main(int argc, char **argv) {
    int number[5] = {0};
    for (int i = 0; i < 5 && i + 1 < argc; i++)
        number[i] = atoi(argv[i + 1]);
    int port = number[0], streams = number[1], requests = number[2], streaming = number[3], tokens = number[4];
    if (argc != 6 || streams < 1 || requests < 1 || tokens < 1) {
        fprintf(stderr, "usage: reader PORT STREAMS REQUESTS STREAMING(0|1) TOKENS\n");
        return 2;
    }
    if (streams > requests)
        streams = requests;
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    write_request(port, streaming, tokens);

    int epoll_fd = epoll_create1(0);
    Conn *conns = calloc((size_t)streams, sizeof *conns);
    for (int i = 0; i < streams; i++) {
        conns[i].fd = connect_to(port);
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = &conns[i]};
        epoll_ctl(epoll_fd, EPOLL_CTL_ADD, conns[i].fd, &e);
    }
    Times ttft = room_for((size_t)requests), latency = room_for((size_t)requests);
    Times gaps = room_for((size_t)requests * ((size_t)tokens + 4));
    static char buffer[BUFFER];
    struct epoll_event events[EVENTS];
    uint64_t reads = 0, begin = now_ns();
    int sent = 0, answered = 0;
    for (; sent < streams; sent++)
        send_request(&conns[sent]);
    while (answered < requests) {
        int n = epoll_wait(epoll_fd, events, EVENTS, -1);
        for (int i = 0; i < n; i++) {
            Conn *c = events[i].data.ptr;
            errno = 0;
            ssize_t len = recv(c->fd, buffer, sizeof buffer, MSG_DONTWAIT);
            if (len < 0 && errno == EAGAIN)
                continue;
            if (len <= 0)
                give_up("cannot receive");
            uint64_t now = now_ns();
            reads++;
            if (c->reads++ == 0)
                c->first_ns = now;
            else
                add(&gaps, now - c->last_ns);
            c->last_ns = now;
            if (!(streaming ? stream_ends(c, buffer, (size_t)len) : whole(c, buffer, (size_t)len)))
                continue;
            add(&ttft, c->first_ns - c->sent_ns);
            add(&latency, now - c->sent_ns);
            answered++;
            if (sent < requests) {
                sent++;
                send_request(c);
            }
        }
    }
    double wall = (double)(now_ns() - begin) / 1e9, count = (double)requests * tokens;
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    double cpu = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                 (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
    printf("{\"wall\": %.5f, \"rps\": %.2f, \"events_s\": %.1f, \"reads\": %llu, \"cpu\": %.4f", wall, requests / wall,
           count / wall, (unsigned long long)reads, cpu);
    print_times("ttft", &ttft);
    print_times("gap", &gaps);
    print_times("latency", &latency);
    printf("}\n");
    return 0;
}
