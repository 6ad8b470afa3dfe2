// SPDX-License-Identifier: Apache-2.0
/// \file
/// Wrong calls of the C API on a real model end in a status and a message, and the session works on.
/// usage: Misuse MODEL.so MODEL.moepack
#include "Common.h"

#include <atomic>
#include <thread>

namespace {

const std::vector<int32_t> kPrompt = {46, 1316, 584, 258, 579};
constexpr moert_status kOk = MOERT_STATUS_OK, kInvalid = MOERT_STATUS_INVALID_ARGUMENT;

void checkNulls(const moert_api *api, const Opened &run) {
  moert_error e = {};
  moert_plan_info plan;
  moert_model_info info;
  moert_statistics statistics;
  moert_model *model = nullptr;
  moert_session *session = nullptr;
  moert_open_options options = optionsFor("x");
  moert_sampler_options sampler = {};
  moert_generate_options generate = {};
  size_t count = 0;
  int32_t id = 0;
  CHECK(api->plan(nullptr, &plan, &e) == kInvalid && e.message[0]);
  CHECK(api->plan(&options, nullptr, &e) == kInvalid);
  CHECK(api->open(nullptr, &model, &e) == kInvalid && !model);
  CHECK(api->open(&options, nullptr, &e) == kInvalid);
  CHECK(api->open(&options, &model, nullptr) == MOERT_STATUS_IO && !model);
  api->close(nullptr);
  CHECK(api->model_info(nullptr, &info, &e) == kInvalid && api->model_info(run.model, nullptr, &e) == kInvalid);
  CHECK(api->model_plan(nullptr, &plan, &e) == kInvalid && api->model_plan(run.model, nullptr, &e) == kInvalid);
  CHECK(api->statistics(nullptr, &statistics, &e) == kInvalid && api->statistics(run.model, nullptr, &e) == kInvalid);
  CHECK(api->tokenize(nullptr, "a", 1, 0, &id, 1, &count, &e) == kInvalid);
  CHECK(api->tokenize(run.model, nullptr, 1, 0, &id, 1, &count, &e) == kInvalid);
  CHECK(api->tokenize(run.model, "a", 1, 0, nullptr, 1, &count, &e) == kInvalid);
  CHECK(api->tokenize(run.model, "a", 1, 0, &id, 1, nullptr, &e) == kInvalid);
  CHECK(api->detokenize(run.model, nullptr, 1, nullptr, 0, &count, &e) == kInvalid);
  moert_message message = {"user", "a", 1}, noRole = {nullptr, "a", 1}, noContent = {"user", nullptr, 1};
  moert_chat_options chat = {sizeof(chat), 3, 0};
  CHECK(api->chat(nullptr, &message, 1, nullptr, &id, 1, &count, &e) == kInvalid);
  CHECK(api->chat(run.model, nullptr, 1, nullptr, &id, 1, &count, &e) == kInvalid);
  CHECK(api->chat(run.model, nullptr, 0, nullptr, &id, 1, &count, &e) == kInvalid);
  CHECK(api->chat(run.model, &noRole, 1, nullptr, &id, 1, &count, &e) == kInvalid);
  CHECK(api->chat(run.model, &noContent, 1, nullptr, &id, 1, &count, &e) == kInvalid);
  CHECK(api->chat(run.model, &message, 1, &chat, &id, 1, &count, &e) == kInvalid);
  CHECK(api->chat(run.model, &message, 1, nullptr, &id, 1, nullptr, &e) == kInvalid);
  CHECK(api->session_create(nullptr, &session, &e) == kInvalid);
  CHECK(api->session_create(run.model, nullptr, &e) == kInvalid);
  api->session_destroy(nullptr);
  api->session_cancel(nullptr);
  CHECK(api->prefill(nullptr, &id, 1, 0, nullptr, nullptr, &e) == kInvalid);
  CHECK(api->decode(nullptr, 1, &e) == kInvalid && api->session_reset(nullptr, &e) == kInvalid);
  CHECK(!api->logits(nullptr) && api->session_length(nullptr) == 0);
  CHECK(api->session_rewind(nullptr, 0, &e) == kInvalid);
  CHECK(api->sample(nullptr, &sampler, &id, &e) == kInvalid);
  CHECK(api->sample(run.session, nullptr, &id, &e) == kInvalid);
  CHECK(api->sample(run.session, &sampler, nullptr, &e) == kInvalid);
  CHECK(api->generate(nullptr, &id, 1, &generate, nullptr, 0, nullptr, &e) == kInvalid);
  CHECK(api->generate(run.session, &id, 1, nullptr, nullptr, 0, nullptr, &e) == kInvalid);
  CHECK(api->trim(nullptr, 0, &e) == kInvalid);
  CHECK(std::strcmp(api->status_name(static_cast<moert_status>(99)), "unknown") == 0);
}

void checkStructSizes(const moert_api *api, const Opened &run, const char *pack) {
  moert_error e = {};
  moert_plan_info plan;
  for (uint32_t bytes : {0u, 4u, 7u, 0xFFFFFFFFu}) {
    moert_open_options options = optionsFor(pack);
    options.struct_bytes = bytes;
    CHECK(api->plan(&options, &plan, &e) == kInvalid);
    moert_model *model = nullptr;
    CHECK(api->open(&options, &model, &e) == kInvalid && !model);
    moert_generate_options generate = {};
    generate.struct_bytes = bytes;
    CHECK(api->generate(run.session, kPrompt.data(), kPrompt.size(), &generate, nullptr, 0, nullptr, &e) == kInvalid);
  }
  struct {
    moert_open_options known;
    char later[100];
  } larger = {optionsFor(pack), {}};
  larger.known.struct_bytes = sizeof(larger);
  CHECK(api->plan(&larger.known, &plan, &e) == kOk);
  larger.later[99] = 1;
  CHECK(api->plan(&larger.known, &plan, &e) == MOERT_STATUS_UNSUPPORTED);
}

int32_t cancelText(void *, const char *, size_t, int32_t) { return 1; }
int32_t cancelLogits(void *, uint64_t position, const float *, uint32_t) { return position == 3; }

moert_generate_options generateOptions() {
  moert_generate_options generate = {};
  generate.struct_bytes = sizeof(generate);
  generate.max_tokens = 6;
  generate.ignore_stop = 1;
  generate.sampler.top_p = 1;
  return generate;
}

void checkSessionCalls(const moert_api *api, Opened &run) {
  moert_error e = {};
  moert_session *s = run.session;
  std::vector<int32_t> expected = run.continueGreedily(kPrompt, 6);
  CHECK(api->session_reset(s, &e) == kOk);
  moert_sampler_options greedy = {};
  greedy.top_p = 1;
  int32_t id = 0;
  CHECK(api->sample(s, &greedy, &id, &e) == kInvalid); // nothing was fed
  CHECK(api->prefill(s, kPrompt.data(), 0, 0, nullptr, nullptr, &e) == kInvalid);
  CHECK(api->prefill(s, nullptr, 3, 0, nullptr, nullptr, &e) == kInvalid);
  CHECK(api->prefill(s, kPrompt.data(), kPrompt.size(), 1u << 30, nullptr, nullptr, &e) == kInvalid);
  CHECK(api->decode(s, -1, &e) == kInvalid && api->decode(s, 1 << 30, &e) == kInvalid);
  CHECK(api->session_length(s) == 0);
  greedy.temperature = -1;
  CHECK(api->sample(s, &greedy, &id, &e) == kInvalid);
  // A callback cancels; the session keeps what was fed before, and works on.
  CHECK(api->prefill(s, kPrompt.data(), kPrompt.size(), 1, cancelLogits, nullptr, &e) == MOERT_STATUS_CANCELLED);
  CHECK(api->session_length(s) == 3);
  // Twice is once: one call is cancelled, the next is not.
  api->session_cancel(s);
  api->session_cancel(s);
  CHECK(api->decode(s, kPrompt[3], &e) == MOERT_STATUS_CANCELLED);
  CHECK(api->prefill(s, kPrompt.data() + 3, 2, 0, nullptr, nullptr, &e) == kOk);
  greedy.temperature = 0;
  CHECK(api->sample(s, &greedy, &id, &e) == kOk && id == expected[0]);
  CHECK(api->session_rewind(s, kPrompt.size() + 1, &e) == kInvalid && std::strstr(e.message, "expected 0 to 5"));
  CHECK(api->session_length(s) == kPrompt.size() && api->logits(s));
  // Fewer places than tokens: the rest is generated, and not written.
  moert_generate_options generate = generateOptions();
  moert_generate_result result = {};
  std::vector<int32_t> ids(6, -7);
  CHECK(api->session_reset(s, &e) == kOk);
  CHECK(api->generate(s, kPrompt.data(), kPrompt.size(), &generate, ids.data(), 2, &result, &e) == kOk);
  CHECK(result.num_generated == 6 && ids[0] == expected[0] && ids[1] == expected[1] && ids[2] == -7);
  generate.on_text = cancelText;
  CHECK(api->session_reset(s, &e) == kOk);
  CHECK(api->generate(s, kPrompt.data(), kPrompt.size(), &generate, ids.data(), 6, &result, &e) ==
        MOERT_STATUS_CANCELLED);
  CHECK(result.finish_reason == MOERT_FINISH_CANCELLED && result.num_generated == 1);
  CHECK(run.continueGreedily(kPrompt, 6) == expected);
}

struct Holding {
  std::atomic<bool> reached{false}, mayEnd{false};
};

int32_t hold(void *user, const char *, size_t, int32_t) {
  Holding &holding = *static_cast<Holding *>(user);
  holding.reached = true;
  while (!holding.mayEnd)
    std::this_thread::yield();
  return 0;
}

void checkBusy(const moert_api *api, Opened &run) {
  moert_error e = {};
  Holding holding;
  moert_generate_options generate = generateOptions();
  generate.on_text = hold;
  generate.user = &holding;
  CHECK(api->session_reset(run.session, &e) == kOk);
  std::thread other([&] {
    CHECK(api->generate(run.session, kPrompt.data(), kPrompt.size(), &generate, nullptr, 0, nullptr, nullptr) == kOk);
  });
  while (!holding.reached)
    std::this_thread::yield();
  moert_sampler_options greedy = {};
  int32_t id = 0;
  moert_session *second = nullptr;
  CHECK(api->decode(run.session, 1, &e) == MOERT_STATUS_BUSY && e.message[0]);
  CHECK(api->prefill(run.session, kPrompt.data(), 1, 0, nullptr, nullptr, &e) == MOERT_STATUS_BUSY);
  CHECK(api->sample(run.session, &greedy, &id, &e) == MOERT_STATUS_BUSY);
  CHECK(api->session_reset(run.session, &e) == MOERT_STATUS_BUSY);
  CHECK(api->session_create(run.model, &second, &e) == MOERT_STATUS_BUDGET && !second);
  holding.mayEnd = true;
  other.join();
}

} // namespace

int main(int argc, char **argv) {
  CHECK(argc == 3);
  const moert_api *api = load(argv[1]);
  Opened run(api, optionsFor(argv[2]));
  checkNulls(api, run);
  checkStructSizes(api, run, argv[2]);
  checkSessionCalls(api, run);
  checkBusy(api, run);
  std::puts("right");
  return 0;
}
