/* SPDX-License-Identifier: Apache-2.0 */
/// \file
/// The C API of a compiled model. An app loads the generated `.so` (dlopen or link), calls `moert_get_api`, and uses
/// the table it returns; several models can live in one process. No function aborts, throws or prints: every failure is
/// a status and a message. Main source: docs/c-api.md.
#ifndef MOERT_MOERT_H
#define MOERT_MOERT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Structures that the caller fills start with struct_bytes: a library takes shorter ones (the missing fields are 0,
/// their default) and longer ones if what it does not know is 0. Structures that the library fills, and what a function
/// takes, change only with this number.
#define MOERT_API_VERSION 4u

typedef enum moert_status {
  MOERT_STATUS_OK = 0,
  MOERT_STATUS_INVALID_ARGUMENT = 1, /* the caller's value is out of range */
  MOERT_STATUS_IO = 2,               /* a file could not be opened or read */
  MOERT_STATUS_CORRUPT = 3,          /* a file is damaged: checksum, truncation, magic */
  MOERT_STATUS_MISMATCH = 4,         /* pack and .so do not belong together */
  MOERT_STATUS_UNSUPPORTED = 5,      /* the CPU lacks a feature, or the API version is unknown */
  MOERT_STATUS_BUDGET = 6,           /* the budget is below the minimum */
  MOERT_STATUS_NO_MEMORY = 7,        /* the system refused memory or a thread */
  MOERT_STATUS_CONTEXT_FULL = 8,     /* prompt and generated tokens fill the context */
  MOERT_STATUS_CANCELLED = 9,
  MOERT_STATUS_BUSY = 10, /* the session is in use by another call */
  MOERT_STATUS_INTERNAL = 11
} moert_status;

/// Filled on failure, if given. `message` names the file, what was found, what is needed and what to do.
typedef struct moert_error {
  moert_status status;
  char message[764];
} moert_error;

/// A loaded model: pack, resident weights, pager, thread pool. May be shared by sessions.
typedef struct moert_model moert_model;
/// One conversation: KV cache, activations, sampler. One thread at a time, but for moert_session_cancel.
typedef struct moert_session moert_session;

/// Largest values of `threads` and `reader_lanes`.
#define MOERT_MAX_THREADS 64u
#define MOERT_MAX_READER_LANES 16u
/// `reader_lanes` where nothing is asked for.
#define MOERT_DEFAULT_READER_LANES 3u

/// What happens when a token does not fit the context any more.
typedef enum moert_on_full {
  MOERT_ON_FULL_STOP = 0, /* generation ends with MOERT_FINISH_CONTEXT, other calls with MOERT_STATUS_CONTEXT_FULL */
  /// The first `keep` tokens and the latest context / 2 stay, those between are dropped, and what stays is fed again:
  /// the session is then exactly as a fresh one that was fed those tokens. After a call that fails or is cancelled
  /// meanwhile the session holds the tokens that stay; the next call feeds what is missing.
  MOERT_ON_FULL_SLIDE = 1
} moert_on_full;

/// Which expert makes room for another.
typedef enum moert_eviction {
  MOERT_EVICTION_DEFAULT = 0,
  MOERT_EVICTION_LRU = 1,              /* least recently used */
  MOERT_EVICTION_LFU = 2,              /* least frequently used */
  MOERT_EVICTION_FREQUENCY_RECENCY = 3 /* frequency that fades with the age of a use (docs/paging.md) */
} moert_eviction;

/// Whether the experts of the next two layers are predicted and read ahead.
typedef enum moert_prediction {
  MOERT_PREDICTION_AUTO = 0, /* where it was seen to pay */
  MOERT_PREDICTION_OFF = 1,
  MOERT_PREDICTION_ALWAYS = 2
} moert_prediction;

/// What a layer's router chose in one call, and what that cost.
typedef struct moert_routing {
  uint32_t layer;
  uint32_t num_tokens;
  uint64_t position;  /* of the first token */
  const int32_t *ids; /* [num_tokens, top_k], best first; -1 = not used (moert_open_options::experts_used) */
  uint32_t top_k;
  uint32_t num_distinct;      /* experts */
  uint32_t num_missed;        /* of those, not in memory when the router had spoken */
  uint16_t num_guessed;       /* experts guessed for this layer before its router had spoken; 0 = no guess */
  uint16_t num_guessed_right; /* of those, among the ids */
  uint64_t bytes_read;        /* of the missed ones */
  uint64_t begin_ns;          /* the router had spoken; monotonic clock */
  uint64_t end_ns;            /* all experts were computed; 0 = the call failed before */
} moert_routing;
/// Called on the thread of the call, once for each layer with experts; valid during the call only. Must be quick and
/// must not use the session.
typedef void (*moert_routing_callback)(void *user, const moert_routing *routing);

/// Zero-initialize, set struct_bytes, then what you need.
typedef struct moert_open_options {
  uint32_t struct_bytes;
  uint32_t threads;      /* compute threads, the caller's included, up to 64; 0 = the CPUs of `cpus`, or else the
                            performance cores that the process may use, at most its CPU quota */
  const char *pack_path; /* the pack, or NULL to use pack_fd */
  int32_t pack_fd;       /* used when pack_path is NULL; not closed, but its readahead is switched off; a pack of
                            several parts needs a path */
  uint32_t reader_lanes; /* reader threads; 0 = MOERT_DEFAULT_READER_LANES */
  uint64_t pack_offset;  /* where the pack starts inside the file */
  uint64_t pack_bytes;   /* 0 = to the end of the file */
  uint64_t budget_bytes; /* 0 = the default stored at compile time */
  uint32_t context;      /* 0 = compiled context; else <= it */
  uint32_t max_sessions; /* sessions the budget makes room for; 0 = 1 */
  uint32_t window;       /* a token sees the last `window` positions; 0 = as compiled (by default all); never more KV
                            memory than compiled */
  uint32_t sinks;        /* with a window: first positions that are always seen; 0 = as compiled; UINT32_MAX = none */
  uint32_t experts_used; /* best experts of a token that are read and computed, up to top_k; 0 = top_k; less is lossy */
  uint32_t lock_memory; /* 1: keep weights, slots, activations and KV cache from being swapped (mlock). Where the system
                           refuses, the model runs unlocked: see moert_statistics */
  const char *cpus;     /* CPUs for the compute threads, such as "0-3,6"; NULL = all. A caller's thread is pinned during
                           its call only */
  uint32_t on_full;     /* moert_on_full */
  uint32_t keep;        /* MOERT_ON_FULL_SLIDE: first tokens that stay; 0 = 4; UINT32_MAX = none */
  uint32_t state_checkpoints; /* models with recurrent state: copies of it that a session keeps, from which a rewind or
                                 a call after a failure goes on (docs/c-api.md); up to 64; 0 = 2; UINT32_MAX = none */
  uint32_t eviction;          /* moert_eviction */
  uint32_t prediction;        /* moert_prediction */
  uint32_t buffered_reads;    /* 1: read experts and resident weights through the page cache even where direct reads
                                 work; they do not stay there */
  uint32_t read_delay_us;     /* for experiments: each expert costs the reader threads at least this much more time */
  uint32_t preload;           /* 1: with room for every expert, open returns when all of them are in memory; 0: they are
                                 read on demand first, and the rest when nothing else is to be read */
  moert_routing_callback on_routing; /* NULL = none */
  void *routing_user;
} moert_open_options;

/// Bytes by class, for the options given. `plan_bytes` is the most that this library adds to the process.
typedef struct moert_plan_info {
  uint64_t plan_bytes;    /* with every expert resident */
  uint64_t min_bytes;     /* smallest budget that runs */
  uint64_t budget_bytes;  /* the budget in force: requested, stored default, or plan_bytes */
  uint64_t planned_bytes; /* what will be used under that budget, <= budget_bytes */
  uint64_t resident_bytes;
  uint64_t arena_bytes;
  uint64_t kv_bytes;    /* at full context, or of the window */
  uint64_t state_bytes; /* recurrent state and its checkpoints */
  uint64_t slot_bytes;  /* size of one page slot */
  uint64_t num_slots;   /* page slots under that budget */
  uint64_t num_experts; /* expert records of the model */
  uint64_t min_slots;
  uint64_t code_bytes;         /* mapped bytes of the .so */
  uint64_t overhead_bytes;     /* thread stacks, directory, page tables of the system, session bookkeeping */
  uint64_t checkpoint_bytes;   /* of state_bytes, what checkpoints take at most */
  double hit_rate;             /* expected share of expert uses that find the expert in memory, for even routing */
  double tokens_per_second;    /* expected of decoding, from the bandwidths of the target; 0 = unknown */
  uint64_t token_memory_bytes; /* expected bytes that a decoded token reads from memory */
  uint64_t token_flash_bytes;  /* and from the pack */
} moert_plan_info;

typedef struct moert_statistics {
  uint64_t expert_hits;
  uint64_t expert_misses;
  uint64_t expert_bytes_read;
  uint64_t stall_ns; /* time that computing threads waited for experts */
  uint64_t joins;    /* points where threads waited for each other */
  uint64_t tokens_prefilled;
  uint64_t tokens_decoded;
  uint64_t prefill_ns;
  uint64_t decode_ns;
  uint64_t ledger_bytes;      /* accounted now */
  uint64_t ledger_peak_bytes; /* most ever accounted */
  uint32_t threads;
  uint32_t direct_io;    /* 1: reads bypass the page cache */
  uint32_t lossy;        /* moert_lossy flags of the options in force; 0 = the text is that of the compiled model */
  uint32_t experts_used; /* for each token; 0 = no experts */
  uint64_t locked_bytes; /* of accounted memory, locked now */
  uint64_t lock_refused_bytes; /* that the system refused to lock */
  uint64_t lock_limit_bytes;   /* RLIMIT_MEMLOCK; UINT64_MAX = none; 0 = locking was not asked for */
  uint64_t slides;             /* times that a session dropped tokens to go on */
  uint32_t pinned_cpus;        /* number of CPUs in moert_open_options::cpus; 0 = not pinned */
  uint32_t reserved;
  uint64_t tokens_replayed;     /* computed again from what a session holds: by slides, after rewinds and failures */
  uint64_t prefetch_issued;     /* experts whose reading ahead began */
  uint64_t prefetch_useful;     /* of those, in memory when they were needed */
  uint64_t prefetch_late;       /* of those, still being read when they were needed: counted as misses */
  uint64_t prefetch_cancelled;  /* of those, given up because the router chose others */
  uint64_t prefetch_bytes_read; /* ahead of need, without the late ones: theirs are in expert_bytes_read */
  uint64_t predicted;           /* experts predicted for layers that were then routed */
  uint64_t predicted_right;     /* of those, needed */
  float slow_flash;             /* shares of the time of all calls lost to a cause (docs/debugging.md) */
  float slow_swap;
  float slow_throttled;
  float slow_oversubscribed;
} moert_statistics;

/// What makes results differ from those of the compiled model.
enum { MOERT_LOSSY_EXPERTS_USED = 1u << 0, MOERT_LOSSY_WINDOW = 1u << 1 };

typedef struct moert_model_info {
  const char *name;
  const char *target;
  uint32_t vocab_size;
  uint32_t context; /* in force */
  uint32_t max_chunk;
  uint32_t num_layers;
  uint32_t num_experts;
  uint32_t top_k;        /* experts of a token, as compiled */
  uint32_t experts_used; /* in force */
  uint32_t num_stop_ids;
  const int32_t *stop_ids; /* owned by the model */
  float temperature;       /* defaults of the checkpoint; 0 = greedy */
  float top_p;
  int32_t default_top_k;
  const char *report_json; /* the compile report, owned by the .so */
} moert_model_info;

/// temperature 0 = greedy (ties to the lowest id). Otherwise: scale, keep top_k (0 = all), keep the smallest set whose
/// probability reaches top_p, of those keep what has at least min_p of the largest probability, draw with a
/// counter-based generator seeded by `seed`.
typedef struct moert_sampler_options {
  float temperature;
  float top_p; /* 0 or 1 = off */
  int32_t top_k;
  float min_p; /* 0 = off */
  uint64_t seed;
} moert_sampler_options;

typedef enum moert_finish_reason {
  MOERT_FINISH_STOP = 0,
  MOERT_FINISH_LENGTH = 1,
  MOERT_FINISH_CONTEXT = 2,
  MOERT_FINISH_CANCELLED = 3,
  MOERT_FINISH_ERROR = 4
} moert_finish_reason;

/// Called with whole code points only (UTF-8, not zero-terminated); ids are those completed by the text. A non-zero
/// answer cancels. May be called with size 0 when a token completes no code point.
typedef int32_t (*moert_text_callback)(void *user, const char *text, size_t size_bytes, int32_t token_id);
/// Called with the logits [vocab_size] of the token at `position`; valid during the call. Non-zero cancels.
typedef int32_t (*moert_logits_callback)(void *user, uint64_t position, const float *logits, uint32_t vocab_size);

typedef struct moert_generate_options {
  uint32_t struct_bytes;
  uint32_t max_tokens;  /* 0 = until stop or context; MOERT_ON_FULL_SLIDE needs a number */
  uint32_t chunk;       /* prefill chunk; 0 = the compiled maximum */
  uint32_t ignore_stop; /* 1: stop tokens are ordinary */
  moert_sampler_options sampler;
  moert_text_callback on_text;     /* may be NULL */
  moert_logits_callback on_logits; /* may be NULL; then every fed token's logits are computed */
  void *user;
} moert_generate_options;

typedef struct moert_generate_result {
  moert_finish_reason finish_reason;
  uint32_t num_generated; /* without the stop token */
  uint64_t prefill_ns;
  uint64_t decode_ns;
  uint64_t slides; /* during this call, see moert_on_full */
} moert_generate_result;

enum {
  MOERT_TOKENIZE_ALLOW_SPECIAL = 1, /* special tokens spelled in the text become their ids */
  MOERT_TOKENIZE_ADD_SPECIAL = 2    /* what the checkpoint puts around a text, such as <|begin_of_text|>, is added */
};

/// One message of a conversation.
typedef struct moert_message {
  const char *role;    /* "system", "user" or "assistant", zero-terminated */
  const char *content; /* not zero-terminated; NULL only with content_bytes 0 */
  size_t content_bytes;
} moert_message;

/// Whether a model that can think first is asked to.
typedef enum moert_thinking {
  MOERT_THINKING_DEFAULT = 0, /* as the checkpoint's template does where nothing is said */
  MOERT_THINKING_ON = 1,
  MOERT_THINKING_OFF = 2
} moert_thinking;

/// Zero-initialize, set struct_bytes, then what you need.
typedef struct moert_chat_options {
  uint32_t struct_bytes;
  uint32_t thinking;  /* moert_thinking; without effect where the model's template has no such choice */
  uint32_t no_answer; /* 1: ends behind the last message; 0: an assistant's message is opened for the model to fill */
} moert_chat_options;

/// Members are appended only: a library has those below struct_bytes.
/// All functions are re-entrant; those with a model are thread-safe, those with a session are not (but for cancel).
/// `error` may be NULL. Handles are owned by the caller and freed by close / destroy.
typedef struct moert_api {
  uint32_t api_version;
  uint32_t struct_bytes;
  /// Computes the plan from the compiled tables alone; opens no file, allocates nothing.
  moert_status (*plan)(const moert_open_options *options, moert_plan_info *info, moert_error *error);
  moert_status (*open)(const moert_open_options *options, moert_model **model, moert_error *error);
  /// Sessions must be destroyed before. NULL is allowed.
  void (*close)(moert_model *model);
  moert_status (*model_info)(const moert_model *model, moert_model_info *info, moert_error *error);
  moert_status (*model_plan)(const moert_model *model, moert_plan_info *info, moert_error *error);
  /// Writes up to `capacity` ids; `*count` is the number needed. With capacity too small: OK, and count > capacity.
  moert_status (*tokenize)(const moert_model *model, const char *text, size_t size_bytes, uint32_t flags, int32_t *ids,
                           size_t capacity, size_t *count, moert_error *error);
  /// Inverse, byte-exact; the result need not be valid UTF-8 if ids cut a code point. Not zero-terminated.
  moert_status (*detokenize)(const moert_model *model, const int32_t *ids, size_t count, char *text, size_t capacity,
                             size_t *size_bytes, moert_error *error);
  moert_status (*session_create)(moert_model *model, moert_session **session, moert_error *error);
  void (*session_destroy)(moert_session *session);
  /// Feeds ids[count] behind what the session holds, in chunks of `chunk` (0 = maximum); then the logits of the last
  /// token are available. With on_logits the logits of every token are computed and passed. On error the session holds
  /// the whole chunks fed so far.
  moert_status (*prefill)(moert_session *session, const int32_t *ids, size_t count, uint32_t chunk,
                          moert_logits_callback on_logits, void *user, moert_error *error);
  /// Feeds one token. On error the session is as before.
  moert_status (*decode)(moert_session *session, int32_t id, moert_error *error);
  /// Logits [vocab_size] of the last token fed; NULL before the first and, but for where a checkpoint has them, after
  /// session_rewind. Valid until the next call on the session.
  const float *(*logits)(const moert_session *session);
  /// If there are no logits, the last token that the session holds is computed again first.
  moert_status (*sample)(moert_session *session, const moert_sampler_options *options, int32_t *id, moert_error *error);
  /// Prefill of ids[count], then sampling until stop, length, context or cancel. generated (may be NULL) receives up to
  /// max_tokens ids. count may be 0 if the session holds tokens: it goes on behind them.
  moert_status (*generate)(moert_session *session, const int32_t *ids, size_t count,
                           const moert_generate_options *options, int32_t *generated, size_t capacity,
                           moert_generate_result *result, moert_error *error);
  /// From any thread: the running or next call on the session ends with MOERT_STATUS_CANCELLED at the next layer.
  void (*session_cancel)(moert_session *session);
  /// Forgets all tokens. KV blocks go back to the ledger.
  moert_status (*session_reset)(moert_session *session, moert_error *error);
  uint64_t (*session_length)(const moert_session *session);
  moert_status (*statistics)(const moert_model *model, moert_statistics *statistics, moert_error *error);
  const char *(*status_name)(moert_status status);
  /// Reserved for giving memory back under pressure. Level 0 does nothing and is OK; others are
  /// MOERT_STATUS_UNSUPPORTED: the budget is constant after open. Sessions give KV blocks back by session_reset.
  moert_status (*trim)(moert_model *model, uint32_t level, moert_error *error);
  /// Forgets all tokens but the first `position`; the session is then exactly as a fresh one that was fed those. Costs
  /// no computing itself, and keeps the memory. What KV cache and recurrent state lack afterwards (docs/c-api.md) is
  /// computed again by the next call that feeds or samples; if that fails or is cancelled, the session still holds what
  /// it held. After a slide positions are those of the tokens that are left.
  moert_status (*session_rewind)(moert_session *session, uint64_t position, moert_error *error);
  /// Writes the conversation as the checkpoint's chat template does, tools apart, in token ids: up to `capacity`, and
  /// `*count` is the number needed. What stands in messages never becomes a special token. `options` may be NULL.
  /// MOERT_STATUS_UNSUPPORTED, with the reason, where the template is none that the compiler could take over.
  moert_status (*chat)(const moert_model *model, const moert_message *messages, size_t num_messages,
                       const moert_chat_options *options, int32_t *ids, size_t capacity, size_t *count,
                       moert_error *error);
} moert_api;

/// The only function symbol of a compiled model. NULL if `version` is not supported.
const moert_api *moert_get_api(uint32_t version);

#ifdef __cplusplus
}
#endif
#endif
