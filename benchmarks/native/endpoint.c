/*
 * A fast OpenAI-compatible endpoint in one thread, made to measure clients against.
 *
 *     gcc -O2 -o endpoint endpoint.c
 *     PORT=8000 ./endpoint                               as fast as possible
 *     PORT=8000 TTFT_US=50000 ITL_US=20000 ./endpoint    paced: 50 ms to the first token, 20 ms between tokens
 *
 * Speaks on 127.0.0.1 only: POST /v1/chat/completions (streaming and not), GET /v1/models. Prints one line,
 * "listening on PORT", once it accepts connections; PORT=0 takes a free one. NTOK is the length of an answer that
 * the request does not bound (default 128).
 *
 * Streams carry one event per HTTP chunk and one write per event, as servers of the field do it, so a client sees as
 * many packets as it would there. Times are absolute: a token is due at request + TTFT + i * ITL, however late the
 * one before was sent, so lateness never adds up. A client that reads slowly blocks its own stream only.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/time_types.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "answers.h"
#include "turns.h"

enum { MAX_REQUEST = 64 << 20, EVENTS = 1024, DUE_BEFORE_POLL = 256 };
enum step { GOES_ON, BLOCKED, ENDED, CLOSED };

static long default_tokens = 128, ttft_ns, itl_ns;
static Conn *conns[MAX_FD]; /* by descriptor: an event of a connection closed in the same batch finds NULL */
static int epoll_fd;

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void schedule(Conn *c) {
    if (ttft_ns || itl_ns)
        heap_push(c);
    else
        ready_push(c);
}

/* ---- sending ------------------------------------------------------------------------------------------------ */

static void watch(Conn *c, uint32_t events, int how) {
    struct epoll_event e = {.events = events, .data.fd = c->fd};
    epoll_ctl(epoll_fd, how, c->fd, &e);
}

static enum step close_conn(Conn *c) {
    if (c->heap_at >= 0)
        heap_remove(c);
    if (c->ready_at >= 0)
        ready_remove(c);
    conns[c->fd] = NULL;
    close(c->fd);
    free(c->in);
    free(c->out);
    free(c);
    return CLOSED;
}

/* Writes all of it or keeps the rest until the socket takes more. */
static enum step put(Conn *c, const char *bytes, size_t len) {
    ssize_t sent = send(c->fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent == (ssize_t)len)
        return GOES_ON;
    if (sent < 0 && errno != EAGAIN)
        return close_conn(c);
    size_t done = sent < 0 ? 0 : (size_t)sent;
    c->out = realloc(c->out, len - done);
    memcpy(c->out, bytes + done, len - done);
    c->out_len = len - done;
    c->out_at = 0;
    watch(c, EPOLLIN | EPOLLOUT, EPOLL_CTL_MOD);
    return BLOCKED;
}

/* Sends the next token's event; with the first one the head, with the last one everything that ends the stream. */
static enum step stream_step(Conn *c) {
    char out[4096], event[1024];
    int len = 0;
    if (c->next_token == 0) {
        memcpy(out, STREAM_HEAD, len = sizeof STREAM_HEAD - 1);
        len += chunk(out + len, event, role_event(c, event));
    }
    len += chunk(out + len, event, token_event(c, event));
    c->next_token++;
    if (c->next_token == c->tokens) {
        if (c->with_usage)
            len += chunk(out + len, event, usage_event(c, event));
        len += chunk(out + len, "data: [DONE]\n\n", 14);
        len += sprintf(out + len, "0\r\n\r\n");
        c->all_written = 1;
    }
    enum step step = put(c, out, len);
    if (step != GOES_ON || !c->all_written)
        return step;
    c->answering = 0;
    return ENDED;
}

static enum step answer_whole(Conn *c, const char *status, const char *body, int len) {
    char *out = malloc(len + 512);
    int head = sprintf(out,
                       "HTTP/1.1 %s\r\ndate: Mon, 30 Nov 2026 23:00:00 GMT\r\nserver: native\r\n"
                       "content-length: %d\r\ncontent-type: application/json\r\n\r\n",
                       status, len);
    memcpy(out + head, body, len);
    c->all_written = 1;
    enum step step = put(c, out, head + len);
    free(out);
    if (step == GOES_ON)
        c->answering = 0;
    return step;
}

static enum step completion(Conn *c) {
    char *body = malloc(1024 + (size_t)c->tokens * 8);
    enum step step = answer_whole(c, "200 OK", body, completion_body(c, body));
    free(body);
    return step;
}

/* ---- receiving ---------------------------------------------------------------------------------------------- */

/* Where the value of a JSON key begins; NULL without it. No parser: inside strings a quote is escaped, so the quoted
   name followed by a colon can only be a key, and no client puts these names into a message's own keys. */
static const char *value_of(const char *json, const char *quoted_key) {
    for (const char *at = json; (at = strstr(at, quoted_key)) != NULL;) {
        at += strlen(quoted_key);
        at += strspn(at, " \t\r\n");
        if (*at == ':')
            return at + 1 + strspn(at + 1, " \t\r\n");
    }
    return NULL;
}

static int is_true(const char *value) { return value && strncmp(value, "true", 4) == 0; }

static enum step begin_completion(Conn *c, const char *body, size_t len) {
    static uint64_t last_id;
    const char *bound = value_of(body, "\"max_completion_tokens\"");
    if (!bound)
        bound = value_of(body, "\"max_tokens\"");
    long tokens = bound ? atol(bound) : 0; /* "null" reads as 0 */
    c->tokens = tokens > 0 && tokens <= 1000000 ? (int)tokens : (int)default_tokens;
    c->streaming = is_true(value_of(body, "\"stream\""));
    c->with_usage = is_true(value_of(body, "\"include_usage\""));
    c->prompt_tokens = (int)(len / 6) + 1; /* no tokenizer here: a plausible count that grows with the prompt */
    c->id = ++last_id;
    c->next_token = 0;
    if (!c->streaming && !ttft_ns && !itl_ns)
        return completion(c);
    c->due_ns = now_ns() + ttft_ns + (c->streaming ? 0 : (uint64_t)itl_ns * (c->tokens - 1));
    schedule(c);
    return GOES_ON;
}

static enum step handle(Conn *c, const char *head, const char *body, size_t len) {
    static const char models[] =
        "{\"object\":\"list\",\"data\":[{\"id\":\"" MODEL "\",\"object\":\"model\",\"created\":" CREATED
        ",\"owned_by\":\"native\",\"max_model_len\":131072}]}";
    static const char missing[] = "{\"error\":{\"message\":\"no such path\",\"type\":\"not_found_error\"}}";
    c->answering = 1;
    c->all_written = 0;
    if (strncmp(head, "POST /v1/chat/completions ", 26) == 0)
        return begin_completion(c, body, len);
    if (strncmp(head, "GET /v1/models ", 15) == 0)
        return answer_whole(c, "200 OK", models, sizeof models - 1);
    return answer_whole(c, "404 Not Found", missing, sizeof missing - 1);
}

/* Takes whole requests out of what was received, one at a time: HTTP/1.1 answers in order. */
static void take_requests(Conn *c) {
    while (c->in_len && !c->answering) {
        c->in[c->in_len] = 0;
        char *blank = strstr(c->in, "\r\n\r\n");
        if (!blank)
            return;
        *blank = 0; /* ends the head for the searches below */
        const char *length = strcasestr(c->in, "\r\ncontent-length:");
        size_t body_len = length ? strtoul(length + 17, NULL, 10) : 0;
        size_t head_len = blank + 4 - c->in;
        if (body_len > MAX_REQUEST || (!length && strcasestr(c->in, "\r\ntransfer-encoding:"))) {
            static const char told[] = "{\"error\":{\"message\":\"a content-length of at most 64 MiB is needed\"}}";
            if (answer_whole(c, "411 Length Required", told, sizeof told - 1) != CLOSED)
                close_conn(c);
            return;
        }
        if (c->in_len < head_len + body_len) {
            *blank = '\r';
            return;
        }
        char *end = c->in + head_len + body_len, kept = *end;
        *end = 0;
        if (handle(c, c->in, c->in + head_len, body_len) == CLOSED)
            return;
        *end = kept;
        c->in_len -= head_len + body_len;
        memmove(c->in, end, c->in_len);
    }
}

static void readable(Conn *c) {
    for (;;) {
        if (c->in_cap - c->in_len < 4096) {
            c->in_cap = c->in_cap ? c->in_cap * 2 : 8192;
            c->in = realloc(c->in, c->in_cap + 1); /* and a closing 0 */
        }
        size_t room = c->in_cap - c->in_len;
        ssize_t got = recv(c->fd, c->in + c->in_len, room, MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EAGAIN) || c->in_len > MAX_REQUEST + (1 << 20)) {
            close_conn(c);
            return;
        }
        if (got < 0)
            break;
        c->in_len += got;
        if ((size_t)got < room)
            break;
    }
    take_requests(c);
}

static void writable(Conn *c) {
    ssize_t sent = send(c->fd, c->out + c->out_at, c->out_len - c->out_at, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
        if (errno != EAGAIN)
            close_conn(c);
        return;
    }
    c->out_at += sent;
    if (c->out_at < c->out_len)
        return;
    c->out_at = c->out_len = 0;
    watch(c, EPOLLIN, EPOLL_CTL_MOD);
    if (c->all_written) {
        c->answering = 0;
        take_requests(c);
    } else {
        c->due_ns += itl_ns;
        schedule(c);
    }
}

static void accept_all(int listener) {
    static const int on = 1;
    for (int fd; (fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
        if (fd >= MAX_FD) {
            close(fd);
            continue;
        }
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        Conn *c = conns[fd] = calloc(1, sizeof *c);
        c->fd = fd;
        c->heap_at = c->ready_at = -1;
        watch(c, EPOLLIN, EPOLL_CTL_ADD);
    }
}

/* ---- the loop ----------------------------------------------------------------------------------------------- */

static void take_turns(void) {
    for (int i = 0; i < ready_size;) {
        Conn *c = ready[i];
        enum step step = stream_step(c);
        if (step == GOES_ON)
            i++;
        else if (step != CLOSED) { /* leaving moves another stream to place i */
            ready_remove(c);
            if (step == ENDED)
                take_requests(c);
        }
    }
}

static void send_due(void) {
    uint64_t now = now_ns();
    /* Bounded: new requests must get in even when more is due than one core can send. */
    for (int left = DUE_BEFORE_POLL; heap_size && left && heap[0]->due_ns <= now; left--) {
        Conn *c = heap[0];
        heap_remove(c);
        enum step step = c->streaming ? stream_step(c) : completion(c);
        if (step == GOES_ON && c->streaming) {
            c->due_ns += itl_ns;
            heap_push(c);
        } else if (step != CLOSED && !c->answering)
            take_requests(c);
    }
}

static struct __kernel_timespec patience(void) {
    struct __kernel_timespec wait = {.tv_sec = ready_size ? 0 : 3600};
    if (heap_size && !ready_size) {
        uint64_t now = now_ns(), due = heap[0]->due_ns;
        wait.tv_sec = due > now ? (due - now) / 1000000000u : 0;
        wait.tv_nsec = due > now ? (due - now) % 1000000000u : 0;
    }
    return wait;
}

static long setting(const char *name, long otherwise) {
    const char *text = getenv(name);
    return text && *text ? atol(text) : otherwise;
}

static int listen_on(int port) {
    static const int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    if (bind(fd, (struct sockaddr *)&at, len) || listen(fd, 65535) || getsockname(fd, (struct sockaddr *)&at, &len)) {
        perror("endpoint");
        exit(1);
    }
    printf("listening on %d\n", ntohs(at.sin_port));
    fflush(stdout);
    return fd;
}

int main(void) {
    default_tokens = setting("NTOK", default_tokens);
    ttft_ns = setting("TTFT_US", 0) * 1000;
    itl_ns = setting("ITL_US", 0) * 1000;
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0); /* else the kernel may wake us 50 us late */
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);

    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    int listener = listen_on((int)setting("PORT", 8000));
    struct epoll_event e = {.events = EPOLLIN, .data.fd = listener}, events[EVENTS];
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, listener, &e);
    for (;;) {
        struct __kernel_timespec wait = patience();
        /* The bare call: epoll_wait rounds to milliseconds, and older C libraries don't wrap this one (Linux 5.11). */
        int n = (int)syscall(SYS_epoll_pwait2, epoll_fd, events, EVENTS, &wait, NULL, 0);
        if (n < 0 && errno != EINTR) {
            perror("endpoint: epoll_pwait2");
            return 1;
        }
        for (int i = 0; i < n; i++) {
            int fd = events[i].data.fd;
            if (fd == listener) {
                accept_all(listener);
                continue;
            }
            if (conns[fd] && events[i].events & EPOLLOUT && conns[fd]->out_len)
                writable(conns[fd]);
            if (conns[fd] && events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
                readable(conns[fd]);
        }
        take_turns();
        send_due();
    }
}
