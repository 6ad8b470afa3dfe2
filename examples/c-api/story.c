/* SPDX-License-Identifier: Apache-2.0 */
/* Loads a compiled model, continues a prompt, prints what the pager did. See docs/c-api.md. */
#include <moert/moert.h>

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { kMaxTokens = 24, kMaxPromptIds = 512 };

static int32_t print_text(void *user, const char *text, size_t size_bytes, int32_t token_id) {
  (void)user;
  (void)token_id;
  fwrite(text, 1, size_bytes, stdout);
  return 0; /* non-zero would cancel */
}

/* Continues the prompt in a session of its own, twice: the second time from where the first continuation began. */
static moert_status tell(const moert_api *api, moert_model *model, const char *prompt, moert_error *error) {
  int32_t ids[kMaxPromptIds];
  size_t count = 0;
  moert_session *session = NULL;
  moert_status status = api->tokenize(model, prompt, strlen(prompt), 0, ids, kMaxPromptIds, &count, error);
  if (status != MOERT_STATUS_OK)
    return status;
  if (count > kMaxPromptIds) {
    snprintf(error->message, sizeof error->message, "the prompt has %zu tokens, at most %d are taken", count,
             kMaxPromptIds);
    return MOERT_STATUS_INVALID_ARGUMENT;
  }
  status = api->session_create(model, &session, error);
  if (status != MOERT_STATUS_OK)
    return status;
  moert_generate_options options = {0};
  options.struct_bytes = sizeof options;
  options.max_tokens = kMaxTokens;
  options.sampler.temperature = 0; /* greedy */
  options.sampler.top_p = 1;
  options.on_text = print_text;
  moert_generate_result result = {0};
  status = api->generate(session, ids, count, &options, NULL, 0, &result, error);
  printf("\n");
  if (status == MOERT_STATUS_OK)
    status = api->session_rewind(session, count, error); /* forgets all but the prompt */
  options.sampler.temperature = 0.8f;
  options.sampler.seed = 1;
  if (status == MOERT_STATUS_OK)
    status = api->generate(session, NULL, 0, &options, NULL, 0, &result, error); /* nothing new to feed */
  printf("\n");
  api->session_destroy(session);
  return status;
}

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: %s MODEL.so MODEL.moepack PROMPT\n", argv[0]);
    return 2;
  }
  void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  const moert_api *(*get_api)(uint32_t) = (const moert_api *(*)(uint32_t))dlsym(library, "moert_get_api");
  const moert_api *api = get_api ? get_api(MOERT_API_VERSION) : NULL;
  if (!api) {
    fprintf(stderr, "%s is not a compiled model of API version %u\n", argv[1], MOERT_API_VERSION);
    return 1;
  }
  moert_open_options options = {0};
  options.struct_bytes = sizeof options;
  options.pack_path = argv[2];
  moert_error error = {0};
  moert_model *model = NULL;
  moert_status status = api->open(&options, &model, &error);
  if (status == MOERT_STATUS_OK)
    status = tell(api, model, argv[3], &error);
  moert_statistics statistics = {0};
  if (status == MOERT_STATUS_OK && api->statistics(model, &statistics, &error) == MOERT_STATUS_OK)
    fprintf(stderr, "%llu expert hits, %llu misses\n", (unsigned long long)statistics.expert_hits,
            (unsigned long long)statistics.expert_misses);
  if (status != MOERT_STATUS_OK)
    fprintf(stderr, "%s: %s\n", api->status_name(status), error.message);
  api->close(model);
  return status == MOERT_STATUS_OK ? 0 : 1;
}
