/* SPDX-License-Identifier: Apache-2.0 */
/// \file
/// How messages become the text of a chat, for templates that write one message after the other: ChatML and its
/// relatives. The compiler compares it with what a checkpoint's own template writes; the runtime renders with it.
/// Main source: the chat templates of Qwen2.5, Qwen3, Qwen3.5, QwQ, SmolLM2 and Llama 3.
#ifndef MOERT_CHATFORMAT_H
#define MOERT_CHATFORMAT_H

#include <stddef.h>
#include <stdint.h>

/// Texts of a format. A message is open, role, close, content, end.
typedef enum moert_chat_text {
  MOERT_CHAT_BEGIN = 0, /* before everything */
  MOERT_CHAT_OPEN = 1,
  MOERT_CHAT_CLOSE = 2,
  MOERT_CHAT_END = 3,
  MOERT_CHAT_SYSTEM = 4,   /* content of the system message where none is given; see MOERT_CHAT_HAS_SYSTEM */
  MOERT_CHAT_GENERATE = 5, /* opens the answer: thinking not said, on, off */
  MOERT_CHAT_GENERATE_ON = 6,
  MOERT_CHAT_GENERATE_OFF = 7,
  MOERT_CHAT_REASON = 8, /* why there is no format */
  MOERT_CHAT_NUM_TEXTS = 9
} moert_chat_text;

enum {
  MOERT_CHAT_TRIM = 1u,         /* contents lose white space at both ends */
  MOERT_CHAT_SYSTEM_FIRST = 2u, /* a system message behind the first message is refused */
  MOERT_CHAT_NEEDS_USER = 4u,   /* a conversation without a user's message is refused */
  MOERT_CHAT_HAS_SYSTEM = 8u    /* without a system message there is one with MOERT_CHAT_SYSTEM */
};

/// What becomes of the thinking, <think> ... </think>, at the start of an assistant's message.
typedef enum moert_chat_history {
  MOERT_CHAT_HISTORY_KEPT = 0,     /* it is text like any other */
  MOERT_CHAT_HISTORY_STRIPPED = 1, /* QwQ: it goes, with line feeds behind it */
  MOERT_CHAT_HISTORY_QWEN3 = 2,    /* it goes before the user's last message; behind it, it stays, and the last message
                                      gets an empty one */
  MOERT_CHAT_HISTORY_QWEN35 = 3    /* it goes before the user's last message; behind it every message has one */
} moert_chat_history;

/// UTF-8 text, not zero-terminated.
typedef struct moert_chat_span {
  const char *data;
  size_t size;
} moert_chat_span;

typedef struct moert_chat_format {
  uint32_t flags;
  uint32_t history; /* moert_chat_history */
  moert_chat_span texts[MOERT_CHAT_NUM_TEXTS];
} moert_chat_format;

typedef struct moert_chat_turn {
  moert_chat_span role;
  moert_chat_span content;
} moert_chat_turn;

/// Where the text goes, piece by piece. `is_trusted` is 0 for what stands in messages.
typedef struct moert_chat_sink {
  void *user;
  void (*write)(void *user, moert_chat_span text, int is_trusted);
} moert_chat_sink;

static inline int moert_chat_starts(moert_chat_span text, moert_chat_span with) {
  if (with.size > text.size)
    return 0;
  for (size_t i = 0; i < with.size; ++i)
    if (text.data[i] != with.data[i])
      return 0;
  return 1;
}

static inline moert_chat_span moert_chat_behind(moert_chat_span text, size_t count) {
  moert_chat_span rest = {text.data + count, text.size - count};
  return rest;
}

static inline int moert_chat_ends(moert_chat_span text, moert_chat_span with) {
  return with.size <= text.size && moert_chat_starts(moert_chat_behind(text, text.size - with.size), with);
}

static inline int moert_chat_is(moert_chat_span text, moert_chat_span other) {
  return text.size == other.size && moert_chat_starts(text, other);
}

/// First or last place of `part`; SIZE_MAX if there is none.
static inline size_t moert_chat_find(moert_chat_span text, moert_chat_span part, int last) {
  size_t found = SIZE_MAX;
  for (size_t at = 0; at + part.size <= text.size; ++at)
    if (moert_chat_starts(moert_chat_behind(text, at), part)) {
      found = at;
      if (!last)
        break;
    }
  return found;
}

/// Bytes of the white space at the start of `text`: what Python's str.strip takes.
static inline size_t moert_chat_space(moert_chat_span text) {
  if (text.size == 0)
    return 0;
  uint8_t a = (uint8_t)text.data[0];
  if ((a >= 9 && a <= 13) || (a >= 0x1C && a <= 0x20))
    return 1;
  if (text.size >= 2 && a == 0xC2)
    return (uint8_t)text.data[1] == 0x85 || (uint8_t)text.data[1] == 0xA0 ? 2 : 0;
  if (text.size < 3 || a < 0xE1 || a > 0xE3)
    return 0;
  uint32_t code = ((uint32_t)a & 15) << 12 | ((uint32_t)text.data[1] & 63) << 6 | ((uint32_t)text.data[2] & 63);
  int is_space = code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 ||
                 code == 0x202F || code == 0x205F || code == 0x3000;
  return is_space ? 3 : 0;
}

static inline moert_chat_span moert_chat_trim(moert_chat_span text) {
  for (size_t size; (size = moert_chat_space(text)) != 0;)
    text = moert_chat_behind(text, size);
  for (int again = 1; again;) {
    again = 0;
    for (size_t size = 1; size <= 3 && size <= text.size; ++size)
      if (moert_chat_space(moert_chat_behind(text, text.size - size)) == size) {
        text.size -= size;
        again = 1;
        break;
      }
  }
  return text;
}

/// Without line feeds at the start, at the end, or both.
static inline moert_chat_span moert_chat_trim_lines(moert_chat_span text, int start, int end) {
  while (start && text.size != 0 && text.data[0] == '\n')
    text = moert_chat_behind(text, 1);
  while (end && text.size != 0 && text.data[text.size - 1] == '\n')
    --text.size;
  return text;
}

#define MOERT_CHAT_SPAN(text) moert_chat_make_span("" text, sizeof(text) - 1)
static inline moert_chat_span moert_chat_make_span(const char *data, size_t size) {
  moert_chat_span span = {data, size};
  return span;
}

/// Index of the last user message that is no answer of a tool; `count` if there is none.
static inline size_t moert_chat_last_query(const moert_chat_format *format, const moert_chat_turn *turns,
                                           size_t count) {
  for (size_t i = count; i-- > 0;) {
    moert_chat_span content = turns[i].content;
    content = format->flags & MOERT_CHAT_TRIM ? moert_chat_trim(content) : content;
    int is_answer = moert_chat_starts(content, MOERT_CHAT_SPAN("<tool_response>")) &&
                    moert_chat_ends(content, MOERT_CHAT_SPAN("</tool_response>"));
    if (moert_chat_is(turns[i].role, MOERT_CHAT_SPAN("user")) && !is_answer)
      return i;
  }
  return count;
}

/// The content of an assistant's message, by the history of the format.
static inline void moert_chat_answer(const moert_chat_format *format, moert_chat_span content, int is_recent,
                                     int is_last, const moert_chat_sink *sink) {
  const moert_chat_span close = MOERT_CHAT_SPAN("</think>"), open = MOERT_CHAT_SPAN("<think>");
  moert_chat_span thinking = {"", 0};
  size_t first = moert_chat_find(content, close, 0), last = moert_chat_find(content, close, 1);
  if (format->history == MOERT_CHAT_HISTORY_STRIPPED)
    content = moert_chat_trim_lines(last == SIZE_MAX ? content : moert_chat_behind(content, last + close.size), 1, 0);
  if (format->history < MOERT_CHAT_HISTORY_QWEN3) {
    sink->write(sink->user, content, 0);
    return;
  }
  if (last != SIZE_MAX) {
    thinking = moert_chat_trim_lines(moert_chat_make_span(content.data, first), 0, 1);
    size_t begin = moert_chat_find(thinking, open, 1);
    thinking =
        moert_chat_trim_lines(begin == SIZE_MAX ? thinking : moert_chat_behind(thinking, begin + open.size), 1, 0);
    content = moert_chat_trim_lines(moert_chat_behind(content, last + close.size), 1, 0);
  }
  int is_qwen35 = format->history == MOERT_CHAT_HISTORY_QWEN35;
  thinking = is_qwen35 ? moert_chat_trim(thinking) : thinking;
  if (is_recent && (is_qwen35 || is_last || thinking.size != 0)) {
    sink->write(sink->user, MOERT_CHAT_SPAN("<think>\n"), 1);
    sink->write(sink->user, is_qwen35 ? thinking : moert_chat_trim_lines(thinking, 1, 1), 0);
    sink->write(sink->user, MOERT_CHAT_SPAN("\n</think>\n\n"), 1);
    content = is_qwen35 ? content : moert_chat_trim_lines(content, 1, 0);
  }
  sink->write(sink->user, content, 0);
}

/// Writes the text of a conversation; `generate` is MOERT_CHAT_GENERATE, _ON or _OFF, or MOERT_CHAT_NUM_TEXTS for none.
///
/// Errors: a text that says what is wrong with message `*index`, before anything is written; else NULL. Cost: linear.
static inline const char *moert_chat_render(const moert_chat_format *format, const moert_chat_turn *turns, size_t count,
                                            uint32_t generate, const moert_chat_sink *sink, size_t *index) {
  const moert_chat_span system = MOERT_CHAT_SPAN("system"), user = MOERT_CHAT_SPAN("user");
  const moert_chat_span assistant = MOERT_CHAT_SPAN("assistant"), *texts = format->texts;
  for (*index = 0; *index < count; ++*index) {
    moert_chat_span role = turns[*index].role;
    int is_system = moert_chat_is(role, system);
    if (!is_system && !moert_chat_is(role, user) && !moert_chat_is(role, assistant))
      return "has another role than system, user or assistant";
    if (is_system && *index != 0 && (format->flags & MOERT_CHAT_SYSTEM_FIRST))
      return "is a system message, which this model's template takes as the first one only";
  }
  *index = 0;
  if (count == 0)
    return "is missing: expected at least one";
  size_t query = moert_chat_last_query(format, turns, count);
  if ((format->flags & MOERT_CHAT_NEEDS_USER) && query == count)
    return "is not by a user, nor is any other: this model's template wants a question of a user";
  sink->write(sink->user, texts[MOERT_CHAT_BEGIN], 1);
  if ((format->flags & MOERT_CHAT_HAS_SYSTEM) && !moert_chat_is(turns[0].role, system)) {
    const moert_chat_span parts[] = {texts[MOERT_CHAT_OPEN], system, texts[MOERT_CHAT_CLOSE], texts[MOERT_CHAT_SYSTEM],
                                     texts[MOERT_CHAT_END]};
    for (size_t part = 0; part < 5; ++part)
      sink->write(sink->user, parts[part], 1);
  }
  for (size_t i = 0; i < count; ++i) {
    moert_chat_span content = turns[i].content;
    content = format->flags & MOERT_CHAT_TRIM ? moert_chat_trim(content) : content;
    sink->write(sink->user, texts[MOERT_CHAT_OPEN], 1);
    sink->write(sink->user, turns[i].role, 1);
    sink->write(sink->user, texts[MOERT_CHAT_CLOSE], 1);
    if (moert_chat_is(turns[i].role, assistant))
      moert_chat_answer(format, content, query != count && i > query, i + 1 == count, sink);
    else
      sink->write(sink->user, content, 0);
    sink->write(sink->user, texts[MOERT_CHAT_END], 1);
  }
  if (generate < MOERT_CHAT_NUM_TEXTS)
    sink->write(sink->user, texts[generate], 1);
  return NULL;
}

#endif
