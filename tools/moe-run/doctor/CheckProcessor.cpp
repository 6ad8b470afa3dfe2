// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernel, cores, threads, page size and instruction sets.
#include "tools/moe-run/doctor/Checks.h"

#include <stdio.h>

namespace moerun {

void checkKernel(Patient &patient) {
  char text[512];
  if (patient.machine.readKernel(text, sizeof(text)))
    patient.findings.add("kernel", State::Ok, "%s", text);
  else
    patient.findings.addUnknown("kernel", "the kernel does not tell its version");
}

//===--- cores ----------------------------------------------------------------------------------------------------===//

void checkCores(Patient &patient) {
  constexpr unsigned kMostKinds = 8;
  int64_t kinds[kMostKinds] = {};
  unsigned counts[kMostKinds] = {}, numKinds = 0, numCores = 0;
  for (; numCores < kMostCpus && patient.machine.exists("/sys/devices/system/cpu/cpu%u", numCores); ++numCores) {
    int64_t kilohertz = 0;
    if (!patient.machine.readNumber(&kilohertz, "/sys/devices/system/cpu/cpu%u/cpufreq/cpuinfo_max_freq", numCores))
      continue;
    unsigned kind = 0;
    while (kind < numKinds && kinds[kind] != kilohertz)
      ++kind;
    if (kind == kMostKinds)
      continue;
    numKinds += kind == numKinds;
    kinds[kind] = kilohertz;
    ++counts[kind];
  }
  if (numCores == 0) {
    patient.findings.addUnknown("cores", "/sys/devices/system/cpu cannot be read");
    return;
  }
  char clocks[256] = "unknown";
  size_t length = 0;
  for (unsigned kind = 0; kind < numKinds && length < sizeof(clocks); ++kind)
    length +=
        static_cast<size_t>(snprintf(clocks + length, sizeof(clocks) - length, "%s%u x %.2f GHz", kind == 0 ? "" : ", ",
                                     counts[kind], static_cast<double>(kinds[kind]) / 1e6));
  patient.findings.add("cores", State::Ok, "%u cores; highest clocks: %s", numCores, clocks);
}

void checkThreads(Patient &patient) {
  const Options &options = patient.options;
  moert_cpu_set allowed = patient.machine.cpus(), asked = {};
  if (options.cpus && moert_parse_cpus(options.cpus, &asked))
    allowed = asked;
  if (moert_count_cpus(&allowed) == 0) {
    patient.findings.addUnknown("threads", "the system does not say which cores this process may use");
    return;
  }
  uint32_t fast = moert_performance_cpus(&allowed, patient.machine.root());
  auto threads = static_cast<uint32_t>(options.threads ? options.threads : fast);
  patient.findings
      .add("threads", threads > fast ? State::Warning : State::Ok, "%u computing threads%s for %u performance cores",
           threads, options.threads ? "" : " (auto)", fast)
      .need("at most one for each performance core that the process may use")
      .advise("run with --threads %u (auto does): a thread without a core of its own makes all others wait", fast)
      .measure(threads, fast, "threads");
}

//===--- page size and instructions -------------------------------------------------------------------------------===//

void checkPageSize(Patient &patient) {
  uint64_t page = patient.machine.pageBytes();
  if (page == 0) {
    patient.findings.addUnknown("page_size", "the system does not tell its page size");
    return;
  }
  // 16384 is no fault of the library: it is the other parts of an app that fail, and the project tests pages of 4096.
  State state = page == 4096 ? State::Ok : page == 16384 ? State::Warning : State::Error;
  Finding &f = patient.findings.add("page_size", state, "%llu bytes", static_cast<unsigned long long>(page));
  f.need("4096, or 16384 with every library of the app aligned to it, as this one is");
  f.measure(static_cast<double>(page), 4096, "bytes");
  if (page == 16384)
    f.advise("align the app's other libraries to 16 KiB (-Wl,-z,max-page-size=16384), or switch \"Boot with 16KB page "
             "size\" off; this library needs no change, but was tried with pages of 4 KiB only");
  else
    f.advise("use a kernel with pages of 4 or 16 KiB; the library is aligned to 16 KiB");
}

/// Words of /proc/cpuinfo that stand for a feature. Sources: Linux, arch/arm64/kernel/cpuinfo.c (hwcap_str) and
/// arch/x86/include/asm/cpufeatures.h.
struct FeatureWords {
  uint32_t feature;
  const char *words[4];
};
static constexpr FeatureWords kFeatureWords[] = {
    {MOERT_FEATURE_ARM_DOTPROD, {"asimddp"}},
    {MOERT_FEATURE_ARM_I8MM, {"i8mm"}},
    {MOERT_FEATURE_ARM_FP16, {"fphp", "asimdhp"}},
    {MOERT_FEATURE_X86_AVX2, {"avx2"}},
    {MOERT_FEATURE_X86_FMA, {"fma"}},
    {MOERT_FEATURE_X86_F16C, {"f16c"}},
    {MOERT_FEATURE_X86_AVX512, {"avx512f", "avx512dq", "avx512bw", "avx512vl"}},
    {MOERT_FEATURE_X86_AVX512_VNNI, {"avx512_vnni"}},
    {MOERT_FEATURE_X86_AVX_VNNI, {"avx_vnni"}},
};

/// Whether `word` is one of the words of a line.
static bool hasWord(const char *line, const char *word) {
  size_t length = strlen(word);
  for (const char *at = line; *at && *at != '\n';) {
    at += strspn(at, " \t:");
    size_t size = 0;
    while (at[size] && !strchr(" \t\n", at[size]))
      ++size;
    if (size == length && memcmp(at, word, size) == 0)
      return true;
    at += size;
  }
  return false;
}

/// False if there is no line of features.
static bool readFeatures(const Machine &machine, uint32_t *features) {
  if (!machine.isInjected()) {
    *features = moert_cpu_features();
    return true;
  }
  char text[16384];
  if (!machine.readText(text, sizeof(text), "/proc/cpuinfo"))
    return false;
  // arm64 and x86-64; no word stands for something in both.
  const char *lines[] = {findLine(text, "Features"), findLine(text, "flags")};
  *features = 0;
  for (const FeatureWords &known : kFeatureWords) {
    bool hasAll = true;
    for (const char *word : known.words)
      hasAll = hasAll && (!word || (lines[0] && hasWord(lines[0], word)) || (lines[1] && hasWord(lines[1], word)));
    *features |= hasAll ? known.feature : 0;
  }
  return lines[0] || lines[1];
}

/// A target that asks for less than others.
static const char *smallerTarget([[maybe_unused]] uint32_t available) {
#if defined(__x86_64__)
  return "x86-64-avx2";
#else
  return available & MOERT_FEATURE_ARM_DOTPROD ? "arm64-dotprod" : "arm64-neon";
#endif
}

void checkFeatures(Patient &patient) {
  uint32_t available = 0, required = patient.model->features_required;
  const char *target = patient.model->target_name ? patient.model->target_name : "?";
  if (!readFeatures(patient.machine, &available)) {
    patient.findings.addUnknown("cpu_features", "/proc/cpuinfo cannot be read");
    return;
  }
  char missing[192] = "";
  unsigned numMissing = 0, numRequired = 0;
  size_t length = 0;
  for (uint32_t rest = required; rest; rest &= rest - 1) {
    uint32_t bit = rest & -rest;
    ++numRequired;
    if (available & bit)
      continue;
    length += static_cast<size_t>(snprintf(missing + length, sizeof(missing) - length, "%s%s", numMissing++ ? ", " : "",
                                           moert_feature_name(bit)));
  }
  Finding &f = numMissing ? patient.findings.add("cpu_features", State::Error, "this processor lacks %u of %u: %s",
                                                 numMissing, numRequired, missing)
                          : patient.findings.add("cpu_features", State::Ok, "all %u that are needed", numRequired);
  f.need("those of target %s", target);
  f.advise("compile for a target with fewer features, such as %s; moec targets lists them", smallerTarget(available));
  f.measure(numRequired - numMissing, numRequired, "features");
}

} // namespace moerun
