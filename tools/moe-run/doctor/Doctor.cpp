// SPDX-License-Identifier: Apache-2.0
/// \file
/// The order of the checks, and the verdict.
#include "tools/moe-run/doctor/Doctor.h"

#include "tools/moe-run/doctor/Checks.h"

#include <errno.h>
#include <stdio.h>

namespace moerun {

static bool load(Patient &patient) {
  const Options &options = patient.options;
  return checkLibrary(options) && (patient.api = loadLibrary(options.libraryPath, &patient.model)) != nullptr &&
         (patient.model != nullptr || printError("%s has no model description; compile it again", options.libraryPath));
}

/// A budget below the minimum is a finding. What else the library refuses is no matter of this machine: then the answer
/// is the exit code.
static int plan(Patient &patient) {
  moert_open_options open = openOptions(patient.options, nullptr);
  moert_status status = patient.api->plan(&open, &patient.plan, &patient.planError);
  return status == MOERT_STATUS_OK || status == MOERT_STATUS_BUDGET ? kExitRight
                                                                    : printRefusal(*patient.api, patient.planError);
}

/// What the plan expects, where the target's bandwidths are known.
static void addExpectation(Patient &patient) {
  const moert_plan_info &plan = patient.plan;
  if (plan.tokens_per_second > 0)
    patient.findings.add("speed", State::Ok, "%.1f tokens/s at %.0f %% of the experts found in memory (estimated)",
                         plan.tokens_per_second, 100 * plan.hit_rate);
}

static void check(Patient &patient) {
  patient.hasPagesSwapped = readSwapped(patient.machine, &patient.pagesSwapped);
  checkKernel(patient);
  checkCores(patient);
  checkThreads(patient);
  checkPageSize(patient);
  checkFeatures(patient);
  checkMemory(patient);
  addExpectation(patient);
  bool hasPack = checkPack(patient);
  checkFileSystem(patient);
  if (hasPack) {
    checkSequentialReads(patient);
    checkRandomReads(patient);
  }
  checkSpace(patient);
  checkSwap(patient);
  checkMemoryLock(patient);
  checkFrequency(patient);
  checkHeat(patient);
}

static void print(const Patient &patient) {
  if (!patient.options.json) {
    patient.findings.print();
    return;
  }
  const moert_plan_info &plan = patient.plan;
  printf("{\"state\": \"%s\", \"plan_bytes\": %llu, \"planned_bytes\": %llu, \"min_bytes\": %llu, ",
         nameOf(patient.findings.worst()), static_cast<unsigned long long>(plan.plan_bytes),
         static_cast<unsigned long long>(plan.planned_bytes), static_cast<unsigned long long>(plan.min_bytes));
  patient.findings.printJson();
  fputs("}\n", stdout);
}

int examine(const Options &options) {
  Patient patient(options);
  if (!checkRoot(options.root) || !load(patient))
    return kExitFault;
  if (int exitCode = plan(patient))
    return exitCode;
  check(patient);
  print(patient);
  if (fflush(stdout) != 0 || ferror(stdout)) {
    printError("cannot write to stdout: %s", strerror(errno));
    return kExitFault;
  }
  State state = patient.findings.worst();
  return state == State::Error ? kExitFault : state == State::Warning ? kExitDegraded : kExitRight;
}

} // namespace moerun
