/* frame_scheduler.c - see frame_scheduler.h */
#include "services/transceiver/port/frame_scheduler.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/queue.h>

/* One frame is one or more blocks; the first says what it is. Its header is encoded when it is
 * gathered, into the bytes kept for it. */
struct block {
    struct block *next;          /* of the same frame, or of the free ones */
    STAILQ_ENTRY(block) waiting; /* the rest: first block only */
    struct backend_frame frame;  /* but for its payload and number */
    size_t frame_bytes;
    uint64_t since_us;
    uint32_t queue;
    uint8_t write_class;
    bool is_replay;
    uint8_t bytes[FRAME_BLOCK_BYTES];
};

STAILQ_HEAD(frame_list, block);

struct queue {
    uint32_t next_number;
    bool has_hole; /* audio was dropped: the next one says so */
    bool is_in_turn[WRITE_CLASSES];
    struct frame_list waiting[WRITE_CLASSES];
    TAILQ_ENTRY(queue) turn[WRITE_CLASSES];
};

TAILQ_HEAD(turn_list, queue);

struct frame_scheduler {
    struct queue *queues;
    size_t queue_count;
    struct turn_list turn[WRITE_CLASSES];
    struct block *blocks;
    size_t block_count;
    size_t touched;      /* blocks that were ever used */
    struct block *free;  /* of those */
    size_t free_count;   /* of all */
    size_t waiting;      /* frames */
    struct block *begun; /* was written in part */
    size_t begun_bytes;
    struct block *gathered[FRAME_GATHER_PIECES_MAX];
    size_t gathered_count;
    uint64_t audio_dropped;
    uint64_t messages_dropped;
};

/* --- life ------------------------------------------------------------------------------------- */

struct frame_scheduler *frame_scheduler_create(size_t queue_count, size_t block_count)
{
    struct frame_scheduler *f = calloc(1, sizeof(*f));
    if (f == NULL) {
        return NULL;
    }
    f->queue_count = queue_count;
    f->block_count = f->free_count = block_count;
    f->queues = calloc(queue_count, sizeof(*f->queues));
    f->blocks = malloc(block_count * sizeof(*f->blocks));
    if (f->queues == NULL || f->blocks == NULL) {
        frame_scheduler_destroy(f);
        return NULL;
    }
    for (int class = 0; class < WRITE_CLASSES; class ++) {
        TAILQ_INIT(&f->turn[class]);
        for (size_t i = 0; i < queue_count; i++) {
            STAILQ_INIT(&f->queues[i].waiting[class]);
        }
    }
    return f;
}

void frame_scheduler_destroy(struct frame_scheduler *f)
{
    if (f == NULL) {
        return;
    }
    free(f->queues);
    free(f->blocks);
    free(f);
}

/* --- blocks ----------------------------------------------------------------------------------- */

static size_t blocks_of(size_t frame_bytes)
{
    return (frame_bytes + FRAME_BLOCK_BYTES - 1) / FRAME_BLOCK_BYTES;
}

static struct block *take_block(struct frame_scheduler *f)
{
    struct block *block = f->free;
    assert(f->free_count > 0);
    f->free_count--;
    if (block != NULL) {
        f->free = block->next;
    } else {
        block = &f->blocks[f->touched++];
    }
    block->next = NULL;
    return block;
}

static void free_frame(struct frame_scheduler *f, struct block *first)
{
    while (first != NULL) {
        struct block *next = first->next;
        first->next = f->free;
        f->free = first;
        f->free_count++;
        first = next;
    }
}

/* The payload goes behind the room for the header. */
static struct block *store(struct frame_scheduler *f, const struct backend_frame *frame)
{
    struct block *first = take_block(f);
    struct block *last = first;
    struct byte_reader payload;
    byte_reader_init(&payload, frame->payload);
    size_t at = BACKEND_FRAME_HEADER_BYTES;
    while (byte_reader_left(&payload) > 0) {
        if (at == FRAME_BLOCK_BYTES) {
            last = last->next = take_block(f);
            at = 0;
        }
        const size_t left = byte_reader_left(&payload);
        const size_t part = left < FRAME_BLOCK_BYTES - at ? left : FRAME_BLOCK_BYTES - at;
        memcpy(last->bytes + at, byte_reader_bytes(&payload, part).data, part);
        at += part;
    }
    first->frame = *frame;
    first->frame_bytes = BACKEND_FRAME_HEADER_BYTES + frame->payload.len;
    return first;
}

/* --- queues and turns ------------------------------------------------------------------------- */

static void join_turn(struct frame_scheduler *f, struct queue *q, enum write_class class,
                      bool is_next)
{
    if (q->is_in_turn[class]) {
        return;
    }
    q->is_in_turn[class] = true;
    if (is_next) {
        TAILQ_INSERT_HEAD(&f->turn[class], q, turn[class]);
    } else {
        TAILQ_INSERT_TAIL(&f->turn[class], q, turn[class]);
    }
}

static void leave_turn(struct frame_scheduler *f, struct queue *q, enum write_class class)
{
    if (q->is_in_turn[class]) {
        q->is_in_turn[class] = false;
        TAILQ_REMOVE(&f->turn[class], q, turn[class]);
    }
}

static void append(struct frame_scheduler *f, struct block *first, enum write_class class)
{
    struct queue *q = &f->queues[first->queue];
    first->write_class = (uint8_t) class;
    STAILQ_INSERT_TAIL(&q->waiting[class], first, waiting);
    join_turn(f, q, class, false);
    f->waiting++;
}

/* The first frame of a class of a queue leaves it. */
static struct block *remove_first(struct frame_scheduler *f, struct queue *q,
                                  enum write_class class)
{
    struct block *first = STAILQ_FIRST(&q->waiting[class]);
    STAILQ_REMOVE_HEAD(&q->waiting[class], waiting);
    f->waiting--;
    if (STAILQ_EMPTY(&q->waiting[class])) {
        leave_turn(f, q, class);
    }
    return first;
}

static bool is_too_late(const struct block *first, uint64_t now_us)
{
    return first->frame.type == BACKEND_AUDIO_IN && !first->is_replay &&
           time_since(first->since_us, now_us) >= FRAME_AUDIO_WAIT_US;
}

static void drop_audio(struct frame_scheduler *f, struct queue *q)
{
    free_frame(f, remove_first(f, q, WRITE_AUDIO));
    q->has_hole = true;
    f->audio_dropped++;
}

static void drop_late_audio(struct frame_scheduler *f, struct queue *q, uint64_t now_us)
{
    const struct block *first = NULL;
    while ((first = STAILQ_FIRST(&q->waiting[WRITE_AUDIO])) != NULL && is_too_late(first, now_us)) {
        drop_audio(f, q);
    }
}

void frame_scheduler_begin(struct frame_scheduler *f, size_t queue)
{
    assert(frame_scheduler_is_idle(f, queue));
    f->queues[queue].next_number = 0;
    f->queues[queue].has_hole = false;
}

bool frame_scheduler_is_idle(const struct frame_scheduler *f, size_t queue)
{
    for (int class = 0; class < WRITE_CLASSES; class ++) {
        if (!STAILQ_EMPTY(&f->queues[queue].waiting[class])) {
            return false;
        }
    }
    return f->begun == NULL || f->begun->queue != queue;
}

bool frame_scheduler_is_empty(const struct frame_scheduler *f)
{
    return f->waiting == 0 && f->begun == NULL;
}

void frame_scheduler_clear(struct frame_scheduler *f)
{
    for (int class = 0; class < WRITE_CLASSES; class ++) {
        struct queue *q = NULL;
        while ((q = TAILQ_FIRST(&f->turn[class])) != NULL) {
            struct block *first = remove_first(f, q, (enum write_class) class);
            f->messages_dropped += frame_class_of(first->frame.type) == WRITE_MESSAGE;
            free_frame(f, first);
        }
    }
}

void frame_scheduler_abandon(struct frame_scheduler *f)
{
    assert(f->gathered_count == 0);
    frame_scheduler_clear(f);
    if (f->begun != NULL) {
        f->messages_dropped += frame_class_of(f->begun->frame.type) == WRITE_MESSAGE;
        free_frame(f, f->begun);
        f->begun = NULL;
    }
}

uint64_t frame_scheduler_audio_dropped(const struct frame_scheduler *f)
{
    return f->audio_dropped;
}

uint64_t frame_scheduler_messages_dropped(const struct frame_scheduler *f)
{
    return f->messages_dropped;
}

/* --- put -------------------------------------------------------------------------------------- */

static bool begins_session(uint8_t type)
{
    return type == BACKEND_SESSION_START || type == BACKEND_SESSION_RESUME;
}

/* The class in which this frame leaves neither before the START of its session, nor before
 * anything else if it is the END. */
static enum write_class place_of(const struct queue *q, uint8_t type)
{
    enum write_class class = frame_class_of(type);
    const struct block *control = STAILQ_FIRST(&q->waiting[WRITE_CONTROL]);
    if (class == WRITE_URGENT && control != NULL && begins_session(control->frame.type)) {
        class = WRITE_CONTROL;
    }
    if (type == BACKEND_SESSION_END || type == BACKEND_SESSION_ENDED) {
        class = WRITE_MESSAGE;
        while (class > WRITE_CONTROL && STAILQ_EMPTY(&q->waiting[class])) {
            class --;
        }
    }
    return class;
}

/* What waits in the control class of this queue will leave before an urgent frame put now. */
static void hurry_control(struct frame_scheduler *f, struct queue *q)
{
    while (!STAILQ_EMPTY(&q->waiting[WRITE_CONTROL])) {
        append(f, remove_first(f, q, WRITE_CONTROL), WRITE_URGENT);
    }
}

static bool has_room(const struct frame_scheduler *f, size_t need, bool is_of_the_reserve)
{
    const size_t kept = is_of_the_reserve ? 0 : f->block_count / 4;
    return need <= f->free_count && f->free_count - need >= kept;
}

size_t frame_scheduler_message_room(const struct frame_scheduler *f)
{
    const size_t kept = f->block_count / 2;
    return f->free_count > kept ? f->free_count - kept : 0;
}

/* Older audio of the same session makes room for newer. */
static bool has_room_for_audio(struct frame_scheduler *f, struct queue *q, size_t need)
{
    const struct block *oldest = NULL;
    while (!has_room(f, need, false)) {
        oldest = STAILQ_FIRST(&q->waiting[WRITE_AUDIO]);
        if (oldest == NULL || oldest->frame.type != BACKEND_AUDIO_IN) {
            q->has_hole = true;
            f->audio_dropped++;
            return false;
        }
        drop_audio(f, q);
    }
    return true;
}

static enum frame_put_result make_room(struct frame_scheduler *f, struct queue *q, uint8_t type,
                                       size_t need, uint64_t now_us)
{
    switch (frame_class_of(type)) {
    case WRITE_AUDIO:
        drop_late_audio(f, q, now_us);
        return has_room_for_audio(f, q, need) ? FRAME_PUT_OK : FRAME_PUT_REFUSED;
    case WRITE_MESSAGE:
        if (has_room(f, need, false)) {
            return FRAME_PUT_OK;
        }
        f->messages_dropped++;
        return FRAME_PUT_REFUSED;
    default:
        if (begins_session(type)) {
            return has_room(f, need, false) ? FRAME_PUT_OK : FRAME_PUT_REFUSED;
        }
        return has_room(f, need, true) ? FRAME_PUT_OK : FRAME_PUT_FULL;
    }
}

enum frame_put_result frame_scheduler_put(struct frame_scheduler *f, size_t queue,
                                          const struct backend_frame *frame, bool is_replay,
                                          uint64_t now_us)
{
    struct queue *q = &f->queues[queue];
    assert(queue < f->queue_count && f->gathered_count == 0);
    const size_t need = blocks_of(BACKEND_FRAME_HEADER_BYTES + frame->payload.len);
    const enum frame_put_result result = make_room(f, q, frame->type, need, now_us);
    if (result != FRAME_PUT_OK) {
        return result;
    }
    if (frame->type == BACKEND_FLUSHED) {
        hurry_control(f, q);
    }
    const enum write_class class = place_of(q, frame->type);
    struct block *first = store(f, frame);
    first->queue = (uint32_t)queue;
    first->since_us = now_us;
    first->is_replay = is_replay;
    append(f, first, class);
    return FRAME_PUT_OK;
}

/* --- gather and wrote ------------------------------------------------------------------------- */

/* The queue whose turn it is, once late audio is gone; NULL when nothing waits. */
static struct queue *next_queue(struct frame_scheduler *f, enum write_class *out_class,
                                uint64_t now_us)
{
    for (int class = 0; class < WRITE_CLASSES; class ++) {
        struct queue *q = NULL;
        while ((q = TAILQ_FIRST(&f->turn[class])) != NULL) {
            if (class == WRITE_AUDIO) {
                drop_late_audio(f, q, now_us);
            }
            if (!STAILQ_EMPTY(&q->waiting[class])) {
                *out_class = (enum write_class) class;
                return q;
            }
        }
    }
    return NULL;
}

static size_t put_pieces(const struct block *first, size_t skip_bytes, struct bytes_view *piece)
{
    size_t count = 0;
    size_t left = first->frame_bytes;
    for (const struct block *block = first; left > 0; block = block->next) {
        const size_t part = left < FRAME_BLOCK_BYTES ? left : FRAME_BLOCK_BYTES;
        left -= part;
        if (skip_bytes >= part) {
            skip_bytes -= part;
            continue;
        }
        piece[count++] = bytes_view_of(block->bytes + skip_bytes, part - skip_bytes);
        skip_bytes = 0;
    }
    return count;
}

static struct block *take_turn(struct frame_scheduler *f, struct queue *q, enum write_class class)
{
    struct block *first = remove_first(f, q, class);
    if (q->is_in_turn[class]) { /* to the end of the line */
        leave_turn(f, q, class);
        join_turn(f, q, class, false);
    }
    if (first->frame.type == BACKEND_AUDIO_IN && q->has_hole) {
        first->frame.flags |= BACKEND_AUDIO_DISCONTINUITY;
        q->has_hole = false;
    }
    first->frame.sequence = q->next_number++;
    first->frame.payload.len = first->frame_bytes - BACKEND_FRAME_HEADER_BYTES;
    backend_frame_encode_header(&first->frame, first->bytes);
    return first;
}

size_t frame_scheduler_gather(struct frame_scheduler *f, struct bytes_view *piece, uint64_t now_us)
{
    size_t count = 0;
    size_t bytes = 0;
    enum write_class class;
    struct queue *q = NULL;
    assert(f->gathered_count == 0);
    if (f->begun != NULL) {
        count = put_pieces(f->begun, f->begun_bytes, piece);
        bytes = f->begun->frame_bytes - f->begun_bytes;
    }
    while (bytes < FRAME_GATHER_BYTES_MAX && (q = next_queue(f, &class, now_us)) != NULL) {
        const size_t need = blocks_of(STAILQ_FIRST(&q->waiting[class])->frame_bytes);
        if (need > FRAME_GATHER_PIECES_MAX - count) {
            break;
        }
        struct block *first = take_turn(f, q, class);
        f->gathered[f->gathered_count++] = first;
        count += put_pieces(first, 0, piece + count);
        bytes += first->frame_bytes;
    }
    return count;
}

static void give_back(struct frame_scheduler *f, struct block *first)
{
    const enum write_class class = (enum write_class)first->write_class;
    struct queue *q = &f->queues[first->queue];
    q->next_number--;
    STAILQ_INSERT_HEAD(&q->waiting[class], first, waiting);
    join_turn(f, q, class, true);
    f->waiting++;
}

/* Of the frame begun before, if any: true when it is all written now. */
static bool go_on_with_begun(struct frame_scheduler *f, size_t *bytes)
{
    const size_t left = f->begun->frame_bytes - f->begun_bytes;
    if (*bytes < left) {
        f->begun_bytes += *bytes;
        *bytes = 0;
        return false;
    }
    *bytes -= left;
    free_frame(f, f->begun);
    f->begun = NULL;
    return true;
}

size_t frame_scheduler_wrote(struct frame_scheduler *f, size_t bytes)
{
    size_t whole = f->begun != NULL && go_on_with_begun(f, &bytes) ? 1 : 0;
    size_t next = 0;
    while (next < f->gathered_count && bytes > 0) {
        f->begun = f->gathered[next++];
        f->begun_bytes = 0;
        whole += go_on_with_begun(f, &bytes) ? 1 : 0;
    }
    while (f->gathered_count > next) {
        give_back(f, f->gathered[--f->gathered_count]);
    }
    f->gathered_count = 0;
    return whole;
}
