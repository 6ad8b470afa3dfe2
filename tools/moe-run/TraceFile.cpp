// SPDX-License-Identifier: Apache-2.0
/// \file
/// --trace: a header, whose counters are written again at the end, and a record for each layer of each call.
#include "tools/moe-run/TraceFile.h"

namespace moerun {

bool TraceFile::open(const char *path, moert_open_options &options) {
  if (!file.open(path, "the trace"))
    return false;
  memcpy(header.magic, MOERT_TRACE_MAGIC, sizeof(header.magic));
  header.version = MOERT_TRACE_VERSION;
  header.header_bytes = sizeof(header);
  header.eviction = options.eviction;
  header.prediction = options.prediction;
  options.on_routing = onRouting;
  options.routing_user = this;
  return true;
}

bool TraceFile::begin(const moert_model_info &info, const moert_plan_info &plan) {
  header.num_layers = info.num_layers;
  header.num_experts = info.num_experts;
  header.top_k = info.top_k;
  header.experts_used = info.experts_used;
  header.num_expert_records = plan.num_experts;
  header.num_slots = plan.num_slots;
  header.slot_bytes = plan.slot_bytes;
  if (!plan.num_experts)
    return printError("--trace records which experts are used, and this model has none");
  if (info.num_experts > INT16_MAX)
    return printError("--trace has room for the numbers of %d experts in a layer, the model has %u", INT16_MAX,
                      info.num_experts);
  return file.write(&header, sizeof(header));
}

bool TraceFile::append(const moert_routing &routing) {
  moert_trace_record record = {routing.layer,      routing.num_tokens, routing.position, routing.num_distinct,
                               routing.num_missed, routing.bytes_read, routing.begin_ns, routing.end_ns};
  size_t sizeBytes = moert_trace_id_bytes(routing.num_tokens, routing.top_k);
  size_t count = static_cast<size_t>(routing.num_tokens) * routing.top_k;
  if (!ids.reserve(sizeBytes / sizeof(int16_t)))
    return printError("out of memory for the trace");
  memset(ids.data(), 0, sizeBytes);
  for (size_t i = 0; i < count; ++i)
    ids.data()[i] = static_cast<int16_t>(routing.ids[i]);
  ++header.num_records;
  return file.write(&record, sizeof(record)) && file.write(ids.data(), sizeBytes);
}

void TraceFile::onRouting(void *user, const moert_routing *routing) {
  TraceFile &self = *static_cast<TraceFile *>(user);
  self.failed = self.failed || !self.append(*routing);
}

bool TraceFile::finish(const moert_statistics &statistics) {
  header.expert_hits = statistics.expert_hits;
  header.expert_misses = statistics.expert_misses;
  header.expert_bytes_read = statistics.expert_bytes_read;
  header.prefetch_issued = statistics.prefetch_issued;
  return !failed && file.rewind() && file.write(&header, sizeof(header)) && file.finish();
}

} // namespace moerun
