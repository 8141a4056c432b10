import FileSupport
import Foundation
import Testing

/// Checks the tables of guide.md: the symbols that the iZotope guide names, their tests, and its listings.
@Suite struct GuideTests {
  private struct Row {
    let symbol: String
    let kind: String
    let header: String
    let tests: [String]

    /// The last word of the symbol: the field, or the symbol itself.
    var word: String { symbol.split(separator: ".").last.map(String.init) ?? symbol }

    /// A statement that needs the symbol's declaration.
    var use: String {
      switch kind {
      case "function": "(void)&\(symbol);"
      case "type": "(void)sizeof(\(symbol));"
      case "field":
        "(void)offsetof(\(symbol.replacingOccurrences(of: ".", with: ", ")));"
      default: symbol == "CFSTR" ? "(void)CFSTR(\"\");" : "(void)(\(symbol));"
      }
    }
  }

  private static let folder = "\(package)/Tests/API"

  private static func text(_ path: String) -> String? {
    try? String(contentsOfFile: path, encoding: .utf8)
  }

  /// The rows of all tables with this number of columns.
  private static func rows(columns: Int) -> [[String]] {
    (text("\(folder)/guide.md") ?? "").split(separator: "\n").compactMap { line in
      guard line.hasPrefix("| `") else { return nil }
      let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      return cells.count == columns ? cells : nil
    }
  }

  /// Returns the words of a cell that stand between backquotes.
  private static func code(_ cell: String) -> [String] {
    cell.split(separator: "`", omittingEmptySubsequences: false).enumerated()
      .filter { $0.offset % 2 == 1 }.map { String($0.element) }
  }

  private static let symbols: [Row] = rows(columns: 4).map { cells in
    Row(
      symbol: code(cells[0]).first ?? "", kind: cells[1], header: code(cells[2]).first ?? "",
      tests: code(cells[3]))
  }

  private static func path(ofTest name: String) -> String {
    if name.hasPrefix("Guide/") { return "\(folder)/\(name)" }
    if name.hasPrefix("Examples/") { return "\(package)/\(name)" }
    if name.hasPrefix("HeadersTests/") {
      return "\(folder)/HeadersTests/Programs/\(name.dropFirst("HeadersTests/".count))"
    }
    return "\(folder)/APITests/Programs/\(name)"
  }

  private static func mentions(_ text: String, _ word: String) -> Bool {
    text.range(of: "\\b\(word)\\b", options: .regularExpression) != nil
  }

  private static let listings = ["AQPlayer.cpp", "MixerHostAudio.c", "aurioTouch.cpp", "session.c"]

  // MARK: Symbols

  @Test func theHeadersDeclareEverySymbol() throws {
    expectTrue(Self.symbols.count > 140)
    expectEqual(Set(Self.symbols.map(\.symbol)).count, Self.symbols.count)
    let headers = Set(Self.symbols.map(\.header)).sorted()
    let source =
      "#include <AudioToolbox/AudioToolbox.h>\n#include <stddef.h>\n"
      + headers.map { "#include <\($0)>\n" }.joined()
      + "int main(void) {\n" + Self.symbols.map { "  \($0.use)\n" }.joined() + "}\n"
    let folder = try TemporaryFolder()
    let path = try folder.write(Data(source.utf8), to: "symbols.c")
    let outcome = try clang(["-Wno-gnu-statement-expression", "-fsyntax-only", "-std=c11", path])
    expectEqual(outcome.status, 0, "\(outcome.errors)")
  }

  @Test func theirHeadersNameThem() throws {
    let folders = [include, "\(try toolchain())/lib/swift"]
    for row in Self.symbols {
      let texts = folders.compactMap { Self.text("\($0)/\(row.header)") }
      expectTrue(
        texts.contains { Self.mentions($0, row.word) }, "\(row.symbol) is not in \(row.header)")
    }
  }

  @Test func theirTestsUseThem() {
    for row in Self.symbols {
      expectTrue(!row.tests.isEmpty, "\(row.symbol) has no test")
      for test in row.tests {
        guard let text = Self.text(Self.path(ofTest: test)) else {
          Issue.record("\(row.symbol): there is no \(test)")
          continue
        }
        expectTrue(Self.mentions(text, row.word), "\(test) does not use \(row.symbol)")
      }
    }
  }

  /// The words that Swift has for the guide's Objective-C, and their tests.
  @Test func theSessionOfSwiftHasItsParts() throws {
    let rows = Self.rows(columns: 2)
    expectTrue(rows.count >= 8)
    let sources = "\(package)/Sources/AVFAudio/Session"
    let swift = try FileManager.default.contentsOfDirectory(atPath: sources)
      .filter { $0.hasPrefix("AVAudioSession") }.compactMap { Self.text("\(sources)/\($0)") }
    let tests = Self.text("\(package)/Tests/API/AVFAudioTests/AVAudioSessionTests.swift")
    for row in rows {
      for word in Self.code(row[1]) {
        expectTrue(swift.contains { Self.mentions($0, word) }, "\(word)")
        expectTrue(Self.mentions(tests ?? "", word), "AVAudioSessionTests has no \(word)")
      }
    }
  }

  // MARK: Listings

  /// They compile with both kinds of samples, and the library has all functions that they call.
  @Test(arguments: [0, 1]) func theListingsCompile(preferringFixedPoint: Int) throws {
    let folder = try TemporaryFolder()
    for listing in Self.listings {
      let source = "\(Self.folder)/Guide/\(listing)"
      let isC = listing.hasSuffix(".c")
      let outcome = try clang(
        (isC ? ["-std=gnu11"] : ["--driver-mode=g++", "-std=gnu++11"]) + [
          // The listings compare counts with and without a sign.
          "-Wno-sign-compare", "-Wno-gnu-statement-expression",
          "-DCA_PREFER_FIXED_POINT=\(preferringFixedPoint)", "-shared",
          "-fPIC",
          "-Wl,--no-undefined", source, "-o", folder.file("listing.so"),
        ] + (try linking()))
      expectEqual(outcome.status, 0, "\(listing): \(outcome.errors)")
    }
  }

  /// A symbol that a listing uses is in a table.
  @Test func theTablesHaveTheSymbolsOfTheListings() throws {
    let known = Set(Self.symbols.map(\.word))
    let patterns = /\b(?:Audio|AU[A-Z]|ExtAudio|NewAU|SystemSound|CF[A-Z]|k[A-Z])\w+/
    // Of the listings' own, and what they need beside the guide's text.
    let own: Set = [
      "AudioQueueRemovePropertyListener", "AudioUnitParameterValue", "AudioFormatFlags",
      "AudioToolbox", "kNumberBuffers", "kBufferDurationSeconds",
      "kAudioFormatFlagIsNonInterleaved",
    ]
    for listing in Self.listings {
      let text = try require(Self.text("\(Self.folder)/Guide/\(listing)"))
      let lines = text.split(separator: "\n").filter { !$0.contains("//") }
      for match in lines.joined(separator: "\n").matches(of: patterns) {
        let word = String(match.0)
        expectTrue(known.contains(word) || own.contains(word), "\(listing): \(word)")
      }
    }
  }
}
