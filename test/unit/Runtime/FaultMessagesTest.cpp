// SPDX-License-Identifier: Apache-2.0
/// \file
/// The messages of faults are those that docs/debugging.md lists, but for numbers, and each of them is shown here.
#include "FaultRun.h"

#include <gtest/gtest.h>

#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <set>

using namespace fake;

namespace {

/// Every number becomes N.
std::string withoutNumbers(const std::string &text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    bool isDigit = isdigit(static_cast<unsigned char>(text[i]));
    if (!isDigit)
      result += text[i];
    else if (i == 0 || !isdigit(static_cast<unsigned char>(text[i - 1])))
      result += 'N';
  }
  return result;
}

/// The second cells of the table below the heading "Faults".
std::set<std::string> documented() {
  const char *source = getenv("MOEC_SOURCE");
  std::ifstream file(std::string(source ? source : ".") + "/docs/debugging.md");
  std::set<std::string> texts;
  bool isInside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("## "))
      isInside = line == "## Faults";
    size_t begin = line.find("| `"), end = line.rfind("` |");
    if (isInside && line.starts_with("| ") && begin != std::string::npos && end != std::string::npos)
      texts.insert(withoutNumbers(line.substr(begin + 3, end - begin - 3)));
  }
  return texts;
}

struct Case {
  uint64_t PackLayout::*place; /// where a bit is flipped
  uint64_t offset;
  bool isOpen; /// after open
  std::function<void(FaultLayer &, const std::string &, const PackLayout &)> inject;
};

/// The message of the first call that fails: open, create, prefill, reset.
std::string messageOf(const Case &fault) {
  FaultLayer layer;
  PackLayout layout;
  std::string path = makePack({}, &layout);
  auto inject = [&] {
    if (fault.place)
      flipBit(path, layout.*fault.place + fault.offset);
    if (fault.inject)
      fault.inject(layer, path, layout);
  };
  if (!fault.isOpen)
    inject();
  moert_model *model = nullptr;
  moert_session *session = nullptr;
  moert_error error = {};
  moert_status status = layer.open(settings()[0].options(path), &model, &error);
  if (status == MOERT_STATUS_OK)
    status = api().session_create(model, &session, &error);
  if (fault.isOpen)
    inject();
  std::vector<int32_t> ids = somePrompt(90);
  if (status == MOERT_STATUS_OK)
    status = api().prefill(session, ids.data(), ids.size(), 0, nullptr, nullptr, &error);
  if (status == MOERT_STATUS_OK)
    status = api().session_reset(session, &error);
  EXPECT_NE(status, MOERT_STATUS_OK);
  api().session_destroy(session);
  api().close(model);
  std::string message = error.message;
  if (size_t at = message.find(path); at != std::string::npos)
    message.replace(at, path.size(), "model.moepack");
  return withoutNumbers(message);
}

TEST(FaultMessages, AreThoseOfTheDocument) {
  using Request = moert::SystemRequest;
  auto reads = [](ReadFault fault) {
    return [=](FaultLayer &layer, const std::string &, const PackLayout &) { layer.injectReadsNow(fault, kAlways); };
  };
  auto refuse = [](Request request, uint64_t first) {
    return [=](FaultLayer &layer, const std::string &, const PackLayout &) { layer.refuse(request, first); };
  };
  auto cut = [](FaultLayer &, const std::string &path, const PackLayout &layout) {
    truncateFile(path, layout.experts + 100);
  };
  auto commit = [](FaultLayer &layer, const std::string &, const PackLayout &) { layer.refuseNow(Request::Commit, 9); };
  const Case cases[] = {{nullptr, 0, true, reads(ReadFault::IoError)},
                        {nullptr, 0, true, cut},
                        {nullptr, 0, false, cut},
                        {nullptr, 0, true, commit},
                        {nullptr, 0, false, refuse(Request::Commit, 1)},
                        {nullptr, 0, true, refuse(Request::Decommit, 1)},
                        {nullptr, 0, false, refuse(Request::Thread, 1)},
                        {nullptr, 0, false, refuse(Request::Thread, 3)},
                        {nullptr, 0, false, refuse(Request::Thread, 5)},
                        {&PackLayout::experts, 9, true, nullptr},
                        {&PackLayout::rows, 9, true, nullptr},
                        {&PackLayout::resident, 9, false, nullptr},
                        {&PackLayout::directory, 9, false, nullptr},
                        {&PackLayout::directory, 40 - uint64_t{MOEPACK_PAGE_BYTES}, false, nullptr}};
  std::set<std::string> found, expected = documented();
  for (const Case &fault : cases)
    found.insert(messageOf(fault));
  for (const std::string &text : found)
    EXPECT_TRUE(expected.contains(text)) << "not in docs/debugging.md: " << text;
  for (const std::string &text : expected)
    EXPECT_TRUE(found.contains(text)) << "only in docs/debugging.md: " << text;
}

} // namespace
