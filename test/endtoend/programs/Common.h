// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the test programs of the C API share: loading a compiled model, and checks that end the program.
#ifndef TEST_ENDTOEND_PROGRAMS_COMMON_H
#define TEST_ENDTOEND_PROGRAMS_COMMON_H

#include <moert/moert.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <vector>

#define CHECK(condition)                                                                                               \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      std::fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, #condition);                               \
      std::exit(1);                                                                                                    \
    }                                                                                                                  \
  } while (false)

inline const moert_api *load(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    std::fprintf(stderr, "%s\n", dlerror());
  CHECK(library);
  auto getApi = reinterpret_cast<const moert_api *(*)(uint32_t)>(dlsym(library, "moert_get_api"));
  CHECK(getApi && getApi(MOERT_API_VERSION));
  return getApi(MOERT_API_VERSION);
}

inline moert_open_options optionsFor(const char *pack) {
  moert_open_options options = {};
  options.struct_bytes = sizeof(options);
  options.pack_path = pack;
  options.threads = 2;
  return options;
}

/// A model with one session.
struct Opened {
  Opened(const moert_api *api, const moert_open_options &options) : api(api) {
    moert_error error = {};
    if (api->open(&options, &model, &error) != MOERT_STATUS_OK ||
        api->session_create(model, &session, &error) != MOERT_STATUS_OK)
      std::fprintf(stderr, "%s\n", error.message);
    CHECK(session);
  }
  ~Opened() {
    api->session_destroy(session);
    api->close(model);
  }
  Opened(const Opened &) = delete;
  /// The most likely continuation, token by token, or at once if `step` is null.
  std::vector<int32_t> continueGreedily(const std::vector<int32_t> &ids, int count, void (*step)(void *) = nullptr,
                                        void *user = nullptr) {
    moert_sampler_options greedy = {};
    greedy.top_p = 1;
    moert_error error = {};
    std::vector<int32_t> result;
    CHECK(api->session_reset(session, &error) == MOERT_STATUS_OK);
    CHECK(api->prefill(session, ids.data(), ids.size(), 0, nullptr, nullptr, &error) == MOERT_STATUS_OK);
    while (static_cast<int>(result.size()) < count) {
      int32_t id = -1;
      CHECK(api->sample(session, &greedy, &id, &error) == MOERT_STATUS_OK);
      CHECK(api->decode(session, id, &error) == MOERT_STATUS_OK);
      result.push_back(id);
      if (step)
        step(user);
    }
    return result;
  }
  const moert_api *api;
  moert_model *model = nullptr;
  moert_session *session = nullptr;
};

#endif
