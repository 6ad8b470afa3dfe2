// SPDX-License-Identifier: Apache-2.0
/// \file
/// A tree in place of /proc and /sys.
#ifndef TEST_UNIT_RUNTIME_FAKEROOT_H
#define TEST_UNIT_RUNTIME_FAKEROOT_H

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <stdlib.h>
#include <string>

namespace fake {

struct Root {
  Root() {
    char folder[] = "/tmp/moert-root-XXXXXX";
    path = mkdtemp(folder);
  }
  Root(const Root &) = delete;
  Root &operator=(const Root &) = delete;
  ~Root() { std::filesystem::remove_all(path); }
  void write(const std::string &name, const std::string &text) const {
    std::filesystem::create_directories(std::filesystem::path(path + name).parent_path());
    std::ofstream(path + name) << text;
  }
  void cpus(const char *property, std::initializer_list<int> values) const {
    int cpu = 0;
    for (int value : values)
      write("/sys/devices/system/cpu/cpu" + std::to_string(cpu++) + "/" + property, std::to_string(value) + "\n");
  }

  std::string path;
};

} // namespace fake
#endif
