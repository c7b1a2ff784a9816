/* What is said: the bytes of heads, events and bodies, in the shapes and sizes that servers of the field send. */
#pragma once
#include <stdio.h>
#include <string.h>

#include "turns.h"

static const char *const words[64] = {
    " a",    " all",  " and",   " any",   " are",   " as",    " at",   " back", " be",   " been",  " but",
    " by",   " came", " can",   " day",   " do",    " each",  " far",  " few",  " for",  " from",  " go",
    " good", " had",  " has",   " have",  " he",    " her",   " here", " his",  " how",  " if",    " in",
    " into", " is",   " it",    " its",   " last",  " light", " long", " made", " may",  " more",  " much",
    " new",  " no",   " not",   " of",    " old",   " on",    " one",  " or",   " our",  " out",   " over",
    " own",  " road", " small", " still", " their", " this",  " to",   " under", " water"};

#define MODEL "fast-model"
#define CREATED "1764545000"
static const char STREAM_HEAD[] =
    "HTTP/1.1 200 OK\r\ndate: Mon, 30 Nov 2026 23:00:00 GMT\r\nserver: native\r\n"
    "content-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n";

static int chunk(char *to, const char *data, int len) {
    int head = sprintf(to, "%x\r\n", len);
    memcpy(to + head, data, len);
    memcpy(to + head + len, "\r\n", 2);
    return head + len + 2;
}

#define EVENT_HEAD \
    "data: {\"id\":\"chatcmpl-%032llx\",\"object\":\"chat.completion.chunk\",\"created\":" CREATED \
    ",\"model\":\"" MODEL "\",\"choices\":["
#define USAGE "\"usage\":{\"prompt_tokens\":%d,\"total_tokens\":%d,\"completion_tokens\":%d}"

static int role_event(const Conn *c, char *to) {
    return sprintf(to,
                   EVENT_HEAD "{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"logprobs\":null,"
                              "\"finish_reason\":null}]}\n\n",
                   (unsigned long long)c->id);
}

static const char *word(const Conn *c, int token) { return words[(token * 7 + c->id) & 63]; }

static int token_event(const Conn *c, char *to) {
    int last = c->next_token == c->tokens - 1;
    return sprintf(to,
                   EVENT_HEAD "{\"index\":0,\"delta\":{\"content\":\"%s\"},\"logprobs\":null,\"finish_reason\":%s,"
                              "\"token_ids\":null}]}\n\n",
                   (unsigned long long)c->id, word(c, c->next_token),
                   last ? "\"length\",\"stop_reason\":null" : "null");
}

static int usage_event(const Conn *c, char *to) {
    return sprintf(to, EVENT_HEAD "]," USAGE "}\n\n", (unsigned long long)c->id, c->prompt_tokens,
                   c->prompt_tokens + c->tokens, c->tokens);
}

/* An answer in one piece; room for 1,024 bytes and 8 a token is enough. */
static int completion_body(const Conn *c, char *to) {
    int len = sprintf(to,
                      "{\"id\":\"chatcmpl-%032llx\",\"object\":\"chat.completion\",\"created\":" CREATED
                      ",\"model\":\"" MODEL "\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\","
                      "\"content\":\"",
                      (unsigned long long)c->id);
    for (int i = 0; i < c->tokens; i++)
        len = stpcpy(to + len, word(c, i)) - to;
    return len + sprintf(to + len,
                         "\",\"refusal\":null,\"tool_calls\":[]},\"logprobs\":null,\"finish_reason\":\"length\","
                         "\"stop_reason\":null}]," USAGE "}",
                         c->prompt_tokens, c->prompt_tokens + c->tokens, c->tokens);
}
