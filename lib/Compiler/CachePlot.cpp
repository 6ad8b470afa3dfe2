// SPDX-License-Identifier: Apache-2.0
/// \file
/// Hit rates as an SVG plot.
#include "lib/Compiler/CacheStudy.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

namespace moec {

namespace {

constexpr double kWidth = 640, kHeight = 420, kLeft = 56, kTop = 40, kPlotWidth = 440, kPlotHeight = 320;
/// Dark on white, apart for those who see few colours; the last one is Belady's.
constexpr const char *kColours[] = {"#0072b2", "#e69f00", "#009e73", "#555555"};

double toX(double share) { return kLeft + kPlotWidth * share; }
double toY(double rate) { return kTop + kPlotHeight * (1 - rate); }

std::string escape(llvm::StringRef text) {
  std::string result;
  for (char c : text) {
    if (c == '&' || c == '<' || c == '>')
      result += c == '&' ? "&amp;" : c == '<' ? "&lt;" : "&gt;";
    else
      result += llvm::isPrint(c) || static_cast<unsigned char>(c) >= 0x80 ? c : '?';
  }
  return result;
}

void drawAxes(llvm::raw_ostream &stream, const RoutingTrace &routing) {
  stream << llvm::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" height=\"%g\" ", kWidth, kHeight)
         << "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
  stream << "<text x=\"" << llvm::format("%g", kLeft) << "\" y=\"20\">" << escape(routing.source) << ": "
         << routing.layers << " layers, " << routing.experts << " experts, top-" << routing.topK << ", "
         << routing.tokens << " tokens (simulated)</text>\n";
  for (int percent = 0; percent <= 100; percent += 20) {
    double share = percent / 100.0;
    stream << llvm::format("<path d=\"M%g %gH%gM%g %gV%g\" stroke=\"#ddd\" fill=\"none\"/>\n", kLeft, toY(share),
                           kLeft + kPlotWidth, toX(share), kTop, kTop + kPlotHeight);
    stream << llvm::format("<text x=\"%g\" y=\"%g\" text-anchor=\"end\">%d</text>\n", kLeft - 8, toY(share) + 4,
                           percent);
    stream << llvm::format("<text x=\"%g\" y=\"%g\" text-anchor=\"middle\">%d</text>\n", toX(share),
                           kTop + kPlotHeight + 18, percent);
  }
  stream << llvm::format("<text x=\"%g\" y=\"%g\" text-anchor=\"middle\">experts in memory, %%</text>\n",
                         kLeft + kPlotWidth / 2, kTop + kPlotHeight + 40);
  stream << llvm::format("<text transform=\"translate(16 %g) rotate(-90)\" text-anchor=\"middle\">hits, %%</text>\n",
                         kTop + kPlotHeight / 2);
}

} // namespace

std::string plotCache(const RoutingTrace &routing, llvm::ArrayRef<CacheRow> rows) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  drawAxes(stream, routing);
  size_t numPolicies = cachePolicies().size();
  for (size_t p = 0; p <= numPolicies; ++p) {
    bool isBelady = p == numPolicies;
    stream << "<polyline fill=\"none\" stroke-width=\"2\" stroke=\"" << kColours[isBelady ? 3 : p] << "\""
           << (isBelady ? " stroke-dasharray=\"6 4\"" : "") << " points=\"";
    for (const CacheRow &row : rows) {
      const CacheCounts &counts = isBelady ? row.belady : row.policies[p];
      stream << llvm::format("%.1f,%.1f ", toX(double(row.slots) / double(routing.records)), toY(counts.hitRate()));
    }
    stream << "\"/>\n";
    double y = kTop + 20 + 20 * double(p), x = kLeft + kPlotWidth + 16;
    stream << llvm::format("<path d=\"M%g %gh24\" stroke-width=\"2\" stroke=\"%s\"%s/>", x, y - 4,
                           kColours[isBelady ? 3 : p], isBelady ? " stroke-dasharray=\"6 4\"" : "");
    stream << llvm::format("<text x=\"%g\" y=\"%g\">%s</text>\n", x + 30, y,
                           isBelady ? "Belady's optimum" : cachePolicies()[p].name);
  }
  stream << "</svg>\n";
  return text;
}

} // namespace moec
