/*
 * The parts of `tracebed view`: the traces that it shows, and what is served.
 *
 * The server (http.c) gets requests and knows nothing of traces; what is answered (answers/) knows nothing of HTTP. Between
 * them is view_respond(), which needs neither a network nor a thread.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_VIEW_H
#define TRACEBED_VIEW_H

#include "reader/tools/filter/tool_filter.h"
#include "reader/tools/view/request.h"

#include <pthread.h>

/* ---- The traces ---- */

struct view_counter {
    uint32_t id, process;
};

/* What a trace is known to have, from a sample of its blocks. */
struct view_facts {
    bool is_complete; /* all events were looked at */
    bool has_spans, has_allocations, has_messages, has_instants, has_flows, has_async;
    struct view_counter *counters;
    size_t counter_count;
    uint32_t process_stream, process; /* the stream looked up last, and its process */
};

/* The memory in use over all of the trace's time, once it was asked for. */
struct view_moment {
    uint64_t tick, least_nbytes, mean_nbytes, peak_nbytes;
};
struct view_memory {
    pthread_mutex_t lock; /* of the rest */
    bool is_made;
    uint64_t generation; /* for which it was made */
    struct view_moment *moments;
    size_t count;
};

struct view_trace {
    const char *path;
    struct tbed_reader *reader;
    struct tool_places places;
    const struct tbed_format *format; /* NULL: a trace */
    bool is_written;                  /* a writer is certainly alive */
    struct tbed_trace_info seen; /* when it was refreshed; newer events of its last blocks are read anyway */
    uint64_t generation;         /* that of the view when the trace was found to have changed */
    struct tool_filter_window window; /* of the command line */
    bool has_window;
    uint32_t *streams; /* chosen on the command line, sorted; NULL: all */
    size_t stream_count;
    struct view_facts facts;
    bool has_facts;
    uint64_t facts_generation;  /* for which they were found */
    pthread_rwlock_t lock;      /* shared by answers, exclusive for a refresh */
    pthread_mutex_t facts_lock; /* of the facts and the next; while it is held, the trace may be read */
    struct view_memory memory;
    bool has_names; /* native code was named all at once */
};

/* A window that is being made; see view_window_begin(). */
struct view_window {
    bool is_used;
    uint64_t page, sequence;
    bool is_cancelled; /* atomic */
};
#define VIEW_WINDOWS_MAX 64

/* A page's requests of one kind that take long: the one that runs is cancelled when another comes, and the newest runs next. */
struct view_turn {
    bool is_used, is_running;
    bool is_cancelled; /* atomic: the one that runs */
    uint64_t page;     /* and the kind */
    uint64_t newest;   /* the sequence of the newest request */
    unsigned waiting;
};
#define VIEW_TURNS_MAX 64

struct view {
    struct view_trace *traces;
    size_t trace_count;
    struct tool_filter filter; /* of the command line: what requests that say nothing else get */
    unsigned jobs;
    bool no_symbols;
    bool is_for_file;    /* answers go into a file for others, so they have no paths of this machine */
    uint64_t generation; /* atomic; rises whenever a trace has changed */
    pthread_mutex_t windows_lock;
    struct view_window windows[VIEW_WINDOWS_MAX];
    struct view_turn turns[VIEW_TURNS_MAX]; /* of the same lock */
    pthread_cond_t turns_changed;
    bool is_open; /* of the same lock: the traces can be read */
    pthread_cond_t opened;
    bool is_ending; /* atomic */
};

/* Takes traces whose readers are, or will be, open, and which are zero otherwise; view_close() frees them. */
void view_start(struct view *view, struct view_trace *traces, size_t count);

/*
 * Starts a view of so many files, and opens them. Between the two, requests for anything of a trace wait. view_open() returns
 * -1, or the exit status after a complaint.
 */
void view_prepare(struct view *view, size_t count);
int view_open(struct view *view, char *const *paths);
void view_close(struct view *view);

/* Says which categories and names of the command line the open traces cannot have. */
void view_tell_missed(struct view *view);

/* Waits until the files are open. False: the view ends. */
bool view_wait_open(struct view *view);

/* Picks up what a live trace has got since, unless its answers leave no time for it. */
void view_trace_refresh(struct view *view, struct view_trace *trace);

/* Finds symbols for all native code, if names matter to a filter; once. */
void view_trace_name_all(struct view_trace *trace);

/*
 * Enters a window that is about to be made for a page (0: for none), and cancels older ones of that page. Returns NULL if a
 * newer one is being made, or if there are too many.
 */
struct view_window *view_window_begin(struct view *view, uint64_t page, uint64_t sequence);
void view_window_end(struct view *view, struct view_window *window);

/*
 * Cancels the request of this kind that is being answered for the page, and waits until it has ended. Returns NULL if a newer one
 * has come, or if there are too many pages.
 */
struct view_turn *view_turn_begin(struct view *view, uint64_t page, uint64_t sequence);
void view_turn_end(struct view *view, struct view_turn *turn);

/* Cancels what can be cancelled. */
void view_cancel(struct view *view);

/* ---- What is served ---- */

struct view_response {
    unsigned status;          /* of HTTP */
    const char *content_type; /* NULL: JSON */
    const char *bytes;        /* either into the program, */
    struct tbed_text text;    /* or, if that is NULL, here; freed by the receiver */
    size_t nbytes;            /* of 'bytes' */
};

/* Answers 'target', what follows "/TOKEN/" in a request: a path, perhaps '?' and parameters. */
void view_respond(struct view *view, const char *target, struct view_response *response_ret);

/* A file of the page; false if there is none of this name. */
bool view_page_file(const char *name, struct view_response *response_ret);

/* ---- The server ---- */

struct view_server;

/* Listens on the loopback address; 'port' 0: any. NULL after a complaint. */
struct view_server *view_server_start(struct view *view, uint16_t port);

/* Terminated addresses of the page, valid as long as the server is: for people; and one that works once, for a browser, whose
 * command line others can see. */
const char *view_server_address(const struct view_server *server);
const char *view_server_first_address(const struct view_server *server);

/* Ends running answers, if they end soon. Returns false if some do not: then the process must exit. */
bool view_server_stop(struct view_server *server);

#endif
