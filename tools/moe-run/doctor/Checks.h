// SPDX-License-Identifier: Apache-2.0
/// \file
/// The checks of --doctor, one function for each. Each adds exactly one finding to the patient's list. The thresholds
/// are choices of ours where docs/doctor.md does not say where they come from.
#ifndef TOOLS_MOE_RUN_DOCTOR_CHECKS_H
#define TOOLS_MOE_RUN_DOCTOR_CHECKS_H

#include "tools/moe-run/Library.h"
#include "tools/moe-run/doctor/Finding.h"
#include "tools/moe-run/doctor/Machine.h"

namespace moerun {

/// A model and the machine that it shall run on.
struct Patient {
  explicit Patient(const Options &options) : options(options), machine(options.root) {}

  const Options &options;
  const Machine machine;
  Findings findings;
  const moert_api *api = nullptr;
  const moert_model_descriptor *model = nullptr;
  moert_plan_info plan = {};
  moert_error planError = {}; // BUDGET, or none
  Array<char> packPath;
  uint64_t packStart = 0, firstPartBytes = 0, packBytes = 0; // filled by checkPack; 0 = no pack
  bool isOnFuse = false;                                     // filled by checkFileSystem
  uint64_t pagesSwapped = 0;                                 // when the checks began
  bool hasPagesSwapped = false;
};

inline double mebibytes(uint64_t bytes) { return static_cast<double>(bytes) / 1048576.0; }

// CheckProcessor.cpp
void checkKernel(Patient &patient);
void checkCores(Patient &patient);
void checkThreads(Patient &patient);
void checkPageSize(Patient &patient);
void checkFeatures(Patient &patient);

// CheckMemory.cpp
void checkMemory(Patient &patient);
void checkSwap(Patient &patient);
void checkMemoryLock(Patient &patient);
/// Pages swapped in and out since the start of the system.
bool readSwapped(const Machine &machine, uint64_t *pages);

// CheckStorage.cpp
/// False if there is no pack that a model could be run with.
bool checkPack(Patient &patient);
void checkFileSystem(Patient &patient);
void checkSpace(Patient &patient);

// CheckSpeed.cpp; both read the pack, and know its file system
void checkSequentialReads(Patient &patient);
void checkRandomReads(Patient &patient);

// CheckHeat.cpp
void checkHeat(Patient &patient);
void checkFrequency(Patient &patient);

} // namespace moerun
#endif
