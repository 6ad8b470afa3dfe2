// SPDX-License-Identifier: Apache-2.0
/// \file
/// Temperature and clock of the processor. Sources: Linux, Documentation/ABI/testing/sysfs-class-thermal and
/// admin-guide/pm/cpufreq.
#include "tools/moe-run/doctor/Checks.h"

#include <stdio.h>
#include <time.h>

namespace moerun {

//===--- heat -----------------------------------------------------------------------------------------------------===//

namespace {

/// Thermal zones that can be read.
struct Heat {
  unsigned numZones = 0;
  double hottestC = 0; // of all
  char hottest[48] = "";
  bool hasTrip = false; // some zone has a point where the kernel steps in
  double nearC = 0, tripC = 0;
  char nearest[48] = ""; // the zone that is nearest to its point
};

/// A device by which the kernel slows the processor down.
struct Brake {
  char type[48] = "";
  int64_t state = 0, most = 0;
};

} // namespace

static void readType(const Machine &machine, const char *kind, unsigned index, char (&type)[48]) {
  if (!machine.readText(type, sizeof(type), "/sys/class/thermal/%s%u/type", kind, index))
    snprintf(type, sizeof(type), "number %u", index);
  if (char *newline = strchr(type, '\n'))
    *newline = '\0';
}

/// The lowest trip point of a zone in degrees at which the kernel slows down or ends; 0 if there is none. Active points
/// only start a fan.
static double lowestTrip(const Machine &machine, unsigned zone) {
  double lowest = 0;
  for (unsigned i = 0; i < 16; ++i) {
    char type[32];
    int64_t milli = 0;
    if (!machine.readText(type, sizeof(type), "/sys/class/thermal/thermal_zone%u/trip_point_%u_type", zone, i))
      break;
    if (strncmp(type, "active", 6) == 0 ||
        !machine.readNumber(&milli, "/sys/class/thermal/thermal_zone%u/trip_point_%u_temp", zone, i) || milli <= 0)
      continue;
    double degrees = static_cast<double>(milli) / 1000;
    lowest = lowest == 0 || degrees < lowest ? degrees : lowest;
  }
  return lowest;
}

static Heat readHeat(const Machine &machine) {
  Heat heat;
  for (unsigned zone = 0; zone < 128; ++zone) {
    // Zones are numbered without gaps; sensors that are off answer with an error or a value that cannot be.
    if (!machine.exists("/sys/class/thermal/thermal_zone%u", zone) && zone > 0)
      break;
    int64_t milli = 0;
    if (!machine.readNumber(&milli, "/sys/class/thermal/thermal_zone%u/temp", zone) || milli < -40000 || milli > 150000)
      continue;
    char type[48];
    readType(machine, "thermal_zone", zone, type);
    double degrees = static_cast<double>(milli) / 1000, trip = lowestTrip(machine, zone);
    if (heat.numZones++ == 0 || degrees > heat.hottestC) {
      heat.hottestC = degrees;
      memcpy(heat.hottest, type, sizeof(type));
    }
    if (trip > 0 && (!heat.hasTrip || trip - degrees < heat.tripC - heat.nearC)) {
      heat.hasTrip = true;
      heat.nearC = degrees;
      heat.tripC = trip;
      memcpy(heat.nearest, type, sizeof(type));
    }
  }
  return heat;
}

/// The cooling device of a processor that is furthest in use. Fans and screens are none.
static Brake readBrake(const Machine &machine) {
  Brake hardest;
  for (unsigned i = 0; i < 128 && machine.exists("/sys/class/thermal/cooling_device%u", i); ++i) {
    Brake brake;
    readType(machine, "cooling_device", i, brake.type);
    bool isProcessor = strstr(brake.type, "cpu") || strstr(brake.type, "Processor");
    if (!isProcessor || !machine.readNumber(&brake.state, "/sys/class/thermal/cooling_device%u/cur_state", i) ||
        !machine.readNumber(&brake.most, "/sys/class/thermal/cooling_device%u/max_state", i))
      continue;
    if (brake.state > hardest.state)
      hardest = brake;
  }
  return hardest;
}

void checkHeat(Patient &patient) {
  // So near, some seconds of work are enough.
  constexpr double kNearC = 5;
  Heat heat = readHeat(patient.machine);
  Brake brake = readBrake(patient.machine);
  if (heat.numZones == 0 && brake.state == 0) {
    patient.findings.addUnknown("heat", "no thermal zone can be read");
    return;
  }
  bool isNear = heat.hasTrip && heat.tripC - heat.nearC < kNearC, isBraking = brake.state > 0;
  State state = isNear || isBraking ? State::Warning : State::Ok;
  Finding &f =
      isBraking
          ? patient.findings.add("heat", state, "the kernel slows the processor down: %s at step %lld of %lld",
                                 brake.type, static_cast<long long>(brake.state), static_cast<long long>(brake.most))
      : isNear
          ? patient.findings.add("heat", state, "%s has %.1f C, at %.1f C the kernel slows down or stops the device",
                                 heat.nearest, heat.nearC, heat.tripC)
          : patient.findings.add("heat", state, "%u zones, hottest %s with %.1f C", heat.numZones, heat.hottest,
                                 heat.hottestC);
  f.need("every zone %.0f C below its first trip point, and no brake on the processor", kNearC);
  f.advise("let the device cool down, take it out of its case; --threads 1 or 2 keeps it cooler");
  if (isBraking)
    f.measure(static_cast<double>(brake.state), 0, "steps");
  else if (heat.hasTrip)
    f.measure(heat.nearC, heat.tripC - kNearC, "degrees Celsius");
}

//===--- clock ----------------------------------------------------------------------------------------------------===//

/// Keeps a core busy until the kernel has raised its clock, which takes some tens of milliseconds at most.
static uint32_t warmCore() {
  constexpr long kWarmNs = 60000000;
  timespec begin = {}, now = {};
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do
    clock_gettime(CLOCK_MONOTONIC, &now);
  while ((now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec < kWarmNs);
  return moert_current_cpu();
}

void checkFrequency(Patient &patient) {
  constexpr double kLeast = 0.7;
  constexpr bool kLimitAndClock[] = {true, false};
  const Machine &machine = patient.machine;
  moert_cpu_set cpus = machine.cpus();
  // What an injected machine says of its clock counts as said under load.
  uint32_t warmed =
               machine.isInjected() || !machine.exists("/sys/devices/system/cpu/cpu0/cpufreq") ? kMostCpus : warmCore(),
           slowest = 0;
  int64_t fastest = 0, highest = 0, lowest = 0;
  double least = 2;
  bool isLimit = false;
  auto read = [&](uint32_t cpu, const char *name, int64_t *value) {
    return machine.readNumber(value, "/sys/devices/system/cpu/cpu%u/cpufreq/%s", cpu, name) && *value > 0;
  };
  for (uint32_t cpu = 0; cpu < kMostCpus; ++cpu)
    if (int64_t top = 0; hasCpu(cpus, cpu) && read(cpu, "cpuinfo_max_freq", &top) && top > fastest)
      fastest = top;
  for (uint32_t cpu = 0; fastest && cpu < kMostCpus; ++cpu) {
    int64_t top = 0, clock = 0;
    // Slow cores are not computed on.
    if (!hasCpu(cpus, cpu) || !read(cpu, "cpuinfo_max_freq", &top) || top * 4 < fastest * 3)
      continue;
    for (bool ofLimit : kLimitAndClock) {
      const char *name = ofLimit ? "scaling_max_freq" : "scaling_cur_freq";
      bool counts = ofLimit || machine.isInjected() || cpu == warmed;
      if (!counts || !read(cpu, name, &clock) || static_cast<double>(clock) >= least * static_cast<double>(top))
        continue;
      least = static_cast<double>(clock) / static_cast<double>(top);
      slowest = cpu;
      highest = top;
      lowest = clock;
      isLimit = ofLimit;
    }
  }
  if (highest == 0) {
    patient.findings.addUnknown("frequency", "the clocks of the processor cannot be read");
    return;
  }
  patient.findings
      .add("frequency", least < kLeast ? State::Warning : State::Ok, "cpu%u %s %.2f of %.2f GHz (%.0f %%)", slowest,
           isLimit ? "may run at" : "runs under load at", static_cast<double>(lowest) / 1e6,
           static_cast<double>(highest) / 1e6, 100 * least)
      .need("70 %% of the highest clock on performance cores: %.2f GHz", kLeast * static_cast<double>(highest) / 1e6)
      .advise("switch battery saving off and let the device cool down; %s",
              isLimit ? "scaling_max_freq says what the system allows" : "the governor should follow the load")
      .measure(static_cast<double>(lowest), kLeast * static_cast<double>(highest), "kHz");
}

} // namespace moerun
