// SPDX-License-Identifier: Apache-2.0
/// \file
/// A model's shared object, linked without a sysroot against the stub of libc, exports two symbols, works, and adds to
// the process at most its plan and at least 98 % of it.
#include "FakeModel.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <dlfcn.h>

using namespace fake;

namespace {

/// Forgets the peak of what came before (value 5, Linux since 4.0).
bool resetPeak() {
  FILE *file = fopen("/proc/self/clear_refs", "w");
  return file && fputs("5", file) >= 0 && fclose(file) == 0;
}

uint64_t peakBytes() {
  FILE *file = fopen("/proc/self/status", "r");
  char line[256];
  unsigned long long kibibytes = 0;
  while (file && fgets(line, sizeof(line), file))
    if (sscanf(line, "VmHWM: %llu kB", &kibibytes) == 1)
      break;
  fclose(file);
  return kibibytes * 1024;
}

TEST(SharedObject, MeasuredMemoryIsThePlan) {
  if (kSanitized)
    GTEST_SKIP() << "a sanitizer's shadow memory counts as resident";
  // 330 MB of experts: 1260 layers of 8, of which the entry functions use the first.
  std::string path = makePack({.kvBlockBytes = 1 << 20, .layers = 1260});
  std::vector<int32_t> ids = somePrompt(kContext);
  std::vector<float> expected = referenceLogits(ids).back();
  moert_error error = {};
  moert_model *model = nullptr;
  moert_session *session = nullptr;
  moert_plan_info info = {};
  moert_open_options given = options(path, 0, 3);
  given.preload = 1;
  ASSERT_TRUE(resetPeak());
  uint64_t before = residentSetBytes();

  void *object = dlopen(RUNTIME_FAKE_OBJECT, RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(object) << dlerror();
  auto *descriptor = static_cast<moert_model_descriptor *>(dlsym(object, "moert_model_v1"));
  auto getApi = reinterpret_cast<const moert_api *(*)(uint32_t)>(dlsym(object, "moert_get_api"));
  ASSERT_TRUE(descriptor && getApi);
  EXPECT_EQ(dlsym(object, "_ZN5moert9openModelE"), nullptr);
  moert_entry feed = descriptor->prefill, head = descriptor->head;
  *descriptor = moert_model_v1;
  descriptor->prefill = descriptor->decode = feed;
  descriptor->head = head;
  const moert_api &loaded = *getApi(MOERT_API_VERSION);
  ASSERT_EQ(loaded.open(&given, &model, &error), MOERT_STATUS_OK) << error.message;
  ASSERT_EQ(loaded.model_plan(model, &info, &error), MOERT_STATUS_OK);
  ASSERT_EQ(loaded.session_create(model, &session, &error), MOERT_STATUS_OK) << error.message;
  ASSERT_EQ(loaded.prefill(session, ids.data(), 64, 0, nullptr, nullptr, &error), MOERT_STATUS_OK) << error.message;
  uint64_t early = residentSetBytes() - before;
  EXPECT_LE(early, info.plan_bytes - info.kv_bytes * 3 / 4 * 9 / 10);
  ASSERT_EQ(loaded.prefill(session, ids.data() + 64, ids.size() - 64, 0, nullptr, nullptr, &error), MOERT_STATUS_OK);
  EXPECT_EQ(memcmp(loaded.logits(session), expected.data(), kVocab * sizeof(float)), 0);
  uint64_t measured = peakBytes() - before;
  EXPECT_LE(measured, info.plan_bytes);
  EXPECT_LE(info.plan_bytes, measured / 100 * 102);
  printf("measured %llu bytes, plan %llu bytes\n", static_cast<unsigned long long>(measured),
         static_cast<unsigned long long>(info.plan_bytes));
  loaded.session_destroy(session);
  loaded.close(model);
  dlclose(object);
}

} // namespace
