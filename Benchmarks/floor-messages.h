/* Shared code of floors that work on each message: they walk the frames, and collect results. */
#ifndef FLOOR_MESSAGES_H
#define FLOOR_MESSAGES_H

#include "floor.h"

enum { message_room = 64 * 1024, output_room = 256 * 1024 };

/* Waiting output. It is written after each read, or when it is full. */
static char output[output_room + message_room];
static size_t filled;

static inline void write_output(void) {
  put_all(output, filled);
  filled = 0;
}

/* A frame of the source. `size` includes the head, and is 0 for an incomplete frame. */
struct message_frame {
  size_t size;
  size_t head;
  int is_compressed;
};

static inline struct message_frame message_frame(const char *bytes, size_t count) {
  const unsigned char *head = (const unsigned char *)bytes;
  struct message_frame frame = {0, 2, 0};
  if (count < 4) return frame;
  size_t length = head[1];
  if (length == 126) {
    length = (size_t)head[2] << 8 | head[3];
    frame.head = 4;
  }
  frame.is_compressed = head[0] >> 6 & 1;
  if (frame.head + length <= count) frame.size = frame.head + length;
  return frame;
}

/* Passes each message to `take`, which appends to the output, until the event bench.end. The first
 * `left` bytes are already there. */
static inline void take_messages(struct floor *floor, char *bytes, size_t left,
    void (*take)(char *payload, size_t count, int is_compressed)) {
  for (;;) {
    size_t at = 0;
    for (struct message_frame frame; (frame = message_frame(bytes + at, left - at)).size; at += frame.size) {
      char *payload = bytes + at + frame.head;
      size_t count = frame.size - frame.head;
      take(payload, count, frame.is_compressed);
      if (filled >= output_room) write_output();
      /* The source does not compress or encrypt this event. */
      if (!frame.is_compressed && count < 200 && memmem(payload, count, "bench.end", 9)) return write_output();
    }
    memmove(bytes, bytes + at, left -= at);
    write_output();
    size_t got = floor_read(floor, bytes + left);
    if (!got) die("the source ended early");
    left += got;
  }
}

#endif
