// SPDX-License-Identifier: Apache-2.0
/// \file
/// The checks of --doctor. Each adds one finding. Thresholds that are a choice of ours say so. The pack is checked by
/// the runtime's own code, compiled into this program.
#include "tools/moe-run/Doctor.h"

#include "tools/moe-run/Device.h"
#include "tools/moe-run/Library.h"
#include "tools/moe-run/Report.h"

#include "moert/PackCheck.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/utsname.h>

namespace moerun {

namespace {

enum class State { Ok, Unknown, Warning, Error };

const char *nameOf(State state) {
  switch (state) {
  case State::Ok:
    return "ok";
  case State::Unknown:
    return "unknown";
  case State::Warning:
    return "warning";
  case State::Error:
    break;
  }
  return "error";
}

struct Finding {
  const char *check;
  State state;
  char found[sizeof(moert_error::message)];
  char needed[192];
  char remedy[256]; // empty where nothing is to be done
};

double mebibytes(uint64_t bytes) { return static_cast<double>(bytes) / 1048576.0; }

class Doctor {
public:
  explicit Doctor(const Options &options) : options(options) {}
  int run();

private:
  bool load();
  bool checkOptions();
  void checkFeatures();
  void checkPageSize();
  void checkMemory();
  void checkSwap();
  bool checkPack();
  void addPackError(const char *found);
  void checkSpace();
  void checkSpeed();
  void checkLimits();
  void checkHeat();
  void checkCores();
  void checkKernel();
  void print() const;
  void printObject() const;
  State worst() const;

  Finding &add(const char *check, State state, const char *found, ...) __attribute__((format(printf, 4, 5)));

  const Options &options;
  const moert_api *api = nullptr;
  const moert_model_descriptor *model = nullptr;
  moert_plan_info plan = {};
  moert_error planError = {};
  Array<char> packPath;
  uint64_t packStart = 0, packBytes = 0; // of the first part, in its file
  uint64_t pagesSwapped = 0;
  bool hasPagesSwapped = false;
  Finding findings[16] = {};
  unsigned numFindings = 0;
  int exitCode = kExitFault;
};

Finding &Doctor::add(const char *check, State state, const char *format, ...) {
  constexpr unsigned kMost = sizeof(findings) / sizeof(findings[0]);
  Finding &finding = findings[numFindings < kMost ? numFindings++ : kMost - 1];
  finding.check = check;
  finding.state = state;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(finding.found, sizeof(finding.found), format, arguments);
  va_end(arguments);
  return finding;
}

template <size_t N, typename... Values> void fill(char (&text)[N], const char *format, Values... values) {
  snprintf(text, N, format, values...);
}

bool Doctor::load() {
  return checkLibrary(options) && (api = loadLibrary(options.libraryPath, &model)) != nullptr &&
         (model != nullptr || printError("%s has no model description; compile it again", options.libraryPath));
}

/// A budget below the minimum is a finding. What else the library refuses is no matter of this machine.
bool Doctor::checkOptions() {
  moert_open_options open = openOptions(options, nullptr);
  moert_status status = api->plan(&open, &plan, &planError);
  if (status == MOERT_STATUS_OK || status == MOERT_STATUS_BUDGET)
    return true;
  exitCode = printRefusal(*api, planError);
  return false;
}

void Doctor::checkFeatures() {
  // Opening looks at the processor before the pack; without a pack it ends there.
  moert_open_options open = openOptions(options, "");
  open.budget_bytes = 0;
  moert_error error = {};
  moert_model *opened = nullptr;
  bool isMissing = api->open(&open, &opened, &error) == MOERT_STATUS_UNSUPPORTED;
  Finding &f = add("cpu_features", isMissing ? State::Error : State::Ok, "%s",
                   isMissing ? error.message : "all that are needed");
  fill(f.needed, "those of target %s", model->target_name ? model->target_name : "?");
  if (isMissing)
    fill(f.remedy, "%s", "compile for a target with fewer features, such as arm64-dotprod; moec targets lists them");
}

void Doctor::checkPageSize() {
  unsigned long page = getauxval(AT_PAGESZ);
  bool isRight = page == 4096 || page == 16384;
  State state = page == 0 ? State::Unknown : isRight ? State::Ok : State::Error;
  Finding &f = add("page_size", state, "%lu bytes", page);
  fill(f.needed, "%s", "4096 or 16384");
  if (state == State::Error)
    fill(f.remedy, "%s", "use a kernel with pages of 4 or 16 KiB; the library is aligned to 16 KiB");
}

void Doctor::checkMemory() {
  if (planError.status == MOERT_STATUS_BUDGET) {
    Finding &f = add("memory", State::Error, "%s", planError.message);
    fill(f.needed, "at least %.1f MiB", mebibytes(plan.min_bytes));
    fill(f.remedy, "%s", "raise --memory or lower --context");
    return;
  }
  char text[4096];
  uint64_t available = 0, total = 0;
  bool isKnown = readSmallFile("/proc/meminfo", text, sizeof(text)) && findField(text, "MemAvailable:", &available);
  available *= 1024;
  if (isKnown && findField(text, "MemTotal:", &total))
    total *= 1024;
  State state = !isKnown                         ? State::Unknown
                : available < plan.min_bytes     ? State::Error
                : available < plan.planned_bytes ? State::Warning
                                                 : State::Ok;
  Finding &f = isKnown ? add("memory", state, "%.1f MiB available of %.1f MiB", mebibytes(available), mebibytes(total))
                       : add("memory", state, "/proc/meminfo cannot be read");
  fill(f.needed, "%.1f MiB under this budget; minimum %.1f MiB, with every expert resident %.1f MiB",
       mebibytes(plan.planned_bytes), mebibytes(plan.min_bytes), mebibytes(plan.plan_bytes));
  if (state == State::Error)
    fill(f.remedy, "%s", "close other apps, or lower --context; below the minimum this model does not run");
  else if (state == State::Warning)
    fill(f.remedy, "close other apps, or run with --memory %llu, which fits: same text, lower speed",
         static_cast<unsigned long long>(available > plan.min_bytes + (64u << 20) ? available - (64u << 20)
                                                                                  : plan.min_bytes));
}

/// Pages swapped in and out since the start of the system.
bool readSwapped(uint64_t *pages) {
  char text[16384];
  uint64_t in = 0, out = 0;
  bool isKnown = readSmallFile("/proc/vmstat", text, sizeof(text)) && findField(text, "pswpin ", &in) &&
                 findField(text, "pswpout ", &out);
  *pages = in + out;
  return isKnown;
}

void Doctor::checkSwap() {
  char text[4096];
  uint64_t total = 0, left = 0, now = 0;
  if (!readSmallFile("/proc/meminfo", text, sizeof(text)) || !findField(text, "SwapTotal:", &total) ||
      !findField(text, "SwapFree:", &left)) {
    add("swap", State::Unknown, "/proc/meminfo cannot be read");
    return;
  }
  bool isKnown = hasPagesSwapped && readSwapped(&now);
  uint64_t moved = isKnown ? now - pagesSwapped : 0;
  // A thousand pages while we read a few hundred MiB is a choice: below that lies the usual background.
  State state = moved > 1000 ? State::Warning : State::Ok;
  char activity[64] = "activity unknown";
  if (isKnown)
    snprintf(activity, sizeof(activity), "%llu pages moved during these checks",
             static_cast<unsigned long long>(moved));
  Finding &f = add("swap", state, "%.1f of %.1f MiB used (swap or zram), %s", mebibytes((total - left) * 1024),
                   mebibytes(total * 1024), activity);
  fill(f.needed, "%s", "at most 1000 pages moved");
  if (state == State::Warning)
    fill(f.remedy, "%s", "the system is short of memory: close other apps or lower --memory");
}

bool Doctor::checkPack() {
  if (!findPack(options, packPath)) {
    addPackError(options.packPath ? "--pack names no file that can be read" : "no pack beside the library");
    return false;
  }
  moert_open_options open = openOptions(options, packPath.data());
  moert_error error = {};
  moert_pack_check check = {};
  if (moert_check_pack(model, &open, &check, &error) != MOERT_STATUS_OK) {
    addPackError(error.message);
    return false;
  }
  packStart = options.packOffset;
  packBytes = check.first_part_bytes;
  fill(add("pack", State::Ok, "%s: %llu bytes in %u parts", packPath.data(),
           static_cast<unsigned long long>(check.total_bytes), check.num_parts)
           .needed,
       "%s", "the whole pack of the same compile; weights are checked when they are read");
  return true;
}

void Doctor::addPackError(const char *found) {
  Finding &f = add("pack", State::Error, "%s", found);
  fill(f.needed, "%s", "the whole pack of the same compile as the library");
  fill(f.remedy, "%s", "copy OUT.moepack (all parts) of that compile beside OUT.so, or name it by --pack");
}

void Doctor::checkSpace() {
  struct statfs status = {};
  if (packPath.size() == 0 || statfs(packPath.data(), &status) != 0) {
    add("flash_space", State::Unknown, "the file system of the pack does not answer");
    return;
  }
  // Nothing is written while a model runs; a full file system slows flash down and makes Android close apps. 500 MB is
  // a choice, near Android's own "storage running out" mark.
  constexpr uint64_t kSpare = 500000000;
  uint64_t left = static_cast<uint64_t>(status.f_bavail) * static_cast<uint64_t>(status.f_bsize);
  State state = left < kSpare ? State::Warning : State::Ok;
  Finding &f = add("flash_space", state, "%.0f MB free", static_cast<double>(left) / 1e6);
  fill(f.needed, "%s", "500 MB spare; the model itself writes nothing");
  if (state == State::Warning)
    fill(f.remedy, "%s", "free some space on the storage");
}

void Doctor::checkSpeed() {
  // Enough to leave a drive's cache behind, little enough to be done in seconds.
  constexpr uint64_t kMostBytes = 128u << 20, kSequentialRequest = 1u << 20;
  const uint64_t limit = packBytes < kMostBytes ? packBytes : kMostBytes;
  uint64_t request = plan.slot_bytes ? plan.slot_bytes : model->plan.record_bytes;
  const FileRange range = {packStart, packBytes};
  ReadSpeed sequential =
      measureReads(packPath.data(), range, packBytes < kSequentialRequest ? 16384 : kSequentialRequest, limit, false);
  if (sequential.isKnown)
    fill(add("flash_sequential", State::Ok, "%.0f MB/s (measured, %.1f MiB, one reader%s)", sequential.rateMBps,
             mebibytes(sequential.bytes), sequential.isDirect ? "" : ", through the page cache: an upper bound")
             .needed,
         "%.1f MiB are read before the first token", mebibytes(plan.resident_bytes));
  else
    add("flash_sequential", State::Unknown, "the pack cannot be read");
  if (request == 0 || plan.num_slots >= plan.num_experts) {
    add("flash_random", State::Ok, "not measured: every expert stays in memory under this budget");
    return;
  }
  ReadSpeed random = measureReads(packPath.data(), range, request, limit, true);
  if (!random.isKnown) {
    add("flash_random", State::Unknown, "the pack cannot be read");
    return;
  }
  // One second for a token that finds no expert in memory is a choice.
  uint64_t worst = static_cast<uint64_t>(model->num_layers) * model->top_k * request;
  double seconds = static_cast<double>(worst) / (random.rateMBps * 1e6);
  State state = seconds > 1 ? State::Warning : State::Ok;
  Finding &f =
      add("flash_random", state, "%.0f MB/s, %.2f ms a request (measured, %.1f MiB, one reader%s)", random.rateMBps,
          random.requestMs, mebibytes(random.bytes), random.isDirect ? "" : ", through the page cache: an upper bound");
  fill(f.needed, "requests of %.2f MiB; a token that finds no expert in memory reads %.1f MiB: %.2f s (estimated)",
       mebibytes(request), mebibytes(worst), seconds);
  if (state == State::Warning)
    fill(f.remedy, "%s", "raise --memory so that more experts stay in memory, or use faster storage");
}

void Doctor::checkLimits() {
  struct rlimit limit = {};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0) {
    add("memory_lock", State::Unknown, "the limit cannot be read");
    return;
  }
  bool isUnlimited = limit.rlim_cur == ~0ul;
  Finding &f = isUnlimited ? add("memory_lock", State::Ok, "unlimited")
                           : add("memory_lock", State::Ok, "%.2f MiB may be locked", mebibytes(limit.rlim_cur));
  fill(f.needed, "none; locking all would take %.1f MiB", mebibytes(plan.planned_bytes));
}

void Doctor::checkHeat() {
  ThermalState heat = readThermal();
  if (heat.numZones == 0) {
    add("heat", State::Unknown, "no thermal zone can be read");
    return;
  }
  bool hasTrip = heat.margin < 1000, isHot = hasTrip && heat.margin <= 0;
  Finding &f = add("heat", isHot ? State::Warning : State::Ok, "%u zones, hottest %s with %.1f C", heat.numZones,
                   heat.hottest, heat.hottestC);
  if (hasTrip)
    fill(f.needed, "%s is %.1f C below the point where the kernel slows it down", heat.nearestToTrip, heat.margin);
  if (isHot)
    fill(f.remedy, "%s", "let the device cool down before measuring; take it out of its case");
}

void Doctor::checkCores() {
  CoreState cores = readCores();
  if (cores.numPossible == 0)
    add("cores", State::Unknown, "/sys/devices/system/cpu cannot be read");
  else
    add("cores", State::Ok, "%u cores; highest clocks: %s", cores.numPossible,
        cores.numWithFrequency ? cores.frequencies : "unknown");
}

void Doctor::checkKernel() {
  struct utsname name = {};
  if (uname(&name) != 0)
    add("kernel", State::Unknown, "the kernel does not tell its version");
  else
    add("kernel", State::Ok, "%s %s on %s", name.sysname, name.release, name.machine);
}

State Doctor::worst() const {
  State state = State::Unknown;
  for (unsigned i = 0; i < numFindings; ++i)
    state = findings[i].state > state ? findings[i].state : state;
  return state == State::Unknown ? State::Ok : state; // what is unknown is no fault
}

void Doctor::print() const {
  for (unsigned i = 0; i < numFindings; ++i) {
    const Finding &f = findings[i];
    printf("%-8s %-17s %s\n", nameOf(f.state), f.check, f.found);
    if (f.needed[0])
      printf("%26s needed: %s\n", "", f.needed);
    if (f.remedy[0])
      printf("%26s remedy: %s\n", "", f.remedy);
  }
  State state = worst();
  printf("%s\n", state == State::Error     ? "this model cannot run here"
                 : state == State::Warning ? "this model runs here, with the warnings above"
                                           : "this model runs here");
}

void Doctor::printObject() const {
  printf("{\"state\": \"%s\", \"plan_bytes\": %llu, \"planned_bytes\": %llu, \"min_bytes\": %llu, \"findings\": [",
         nameOf(worst()), static_cast<unsigned long long>(plan.plan_bytes),
         static_cast<unsigned long long>(plan.planned_bytes), static_cast<unsigned long long>(plan.min_bytes));
  for (unsigned i = 0; i < numFindings; ++i) {
    const Finding &f = findings[i];
    const char *keys[] = {"check", "state", "found", "needed", "remedy"};
    const char *values[] = {f.check, nameOf(f.state), f.found, f.needed, f.remedy};
    for (unsigned k = 0; k < 5; ++k) {
      printf("%s\"%s\": ", k ? ", " : i ? ", {" : "{", keys[k]);
      printJsonText(values[k], strlen(values[k]));
    }
    putchar('}');
  }
  fputs("]}\n", stdout);
}

int Doctor::run() {
  if (!load() || !checkOptions())
    return exitCode;
  hasPagesSwapped = readSwapped(&pagesSwapped);
  checkKernel();
  checkCores();
  checkPageSize();
  checkFeatures();
  checkMemory();
  if (checkPack())
    checkSpeed();
  checkSpace();
  checkSwap();
  checkLimits();
  checkHeat();
  options.json ? printObject() : print();
  if (fflush(stdout) != 0 || ferror(stdout)) {
    printError("cannot write to stdout");
    return kExitFault;
  }
  State state = worst();
  return state == State::Error ? kExitFault : state == State::Warning ? kExitDegraded : kExitRight;
}

} // namespace

int examine(const Options &options) { return Doctor(options).run(); }

} // namespace moerun
