import Foundation
import TestSupport
import Testing

/// The table in members.md names every public declaration, and tests that exist.
@Suite struct MemberTests {
  private struct Row {
    let names: [String]
    let members: [String]
    let tests: [String]
  }

  private static let rows: [Row] = text(
    of: repository.appendingPathComponent("Tests/API/AVFAudioTests/members.md")
  ).split(separator: "\n").filter { $0.hasPrefix("| ") }.dropFirst(2).map { line in
    let cells = line.split(separator: "|").map { cell in
      cell.components(separatedBy: ", ").map { $0.trimmingCharacters(in: .whitespaces) }
    }
    return Row(names: cells[0], members: cells[1].filter { $0 != "" }, tests: cells[2])
  }

  /// The texts of the Swift files in a folder.
  private static func sources(in folder: String) -> [String] {
    let root = repository.appendingPathComponent(folder)
    let names = FileManager.default.enumerator(atPath: root.path)?.compactMap { $0 as? String }
    return (names ?? []).filter { $0.hasSuffix(".swift") }.sorted()
      .map { text(of: root.appendingPathComponent($0)) }
  }

  /// The members of each public name; an initialiser has its labels.
  private static let declared: [String: Set<String>] = {
    var declared: [String: Set<String>] = [:]
    var types: Set<String> = []
    for source in ["Sources/AVFAudio", "Sources/AVFoundation"].flatMap({ Self.sources(in: $0) }) {
      var type: String?
      for line in joined(source) {
        if let found = line.firstMatch(
          of: #/^(?:@\w+ )*(?:public|open) (?:class|struct|enum|protocol) (\w+)/#)
        {
          type = String(found.1)
          types.insert(type!)
        } else if let found = line.firstMatch(of: #/^extension (\w+)/#) {
          type = String(found.1)
        } else if let found = line.firstMatch(of: #/^public (?:let|typealias) (\w+)/#) {
          types.insert(String(found.1))
        } else if let type,
          let found = line.firstMatch(
            of:
              #/^  (?:@\w+ )*(?:public|open) (?:\w+ )*?(?:(?:var|let|func) (\w+)|init\??\((.*))/#)
        {
          declared[type, default: []].insert(
            found.1.map(String.init) ?? "init(\(labels(of: found.2 ?? "")):)")
        }
      }
    }
    return Dictionary(uniqueKeysWithValues: types.map { ($0, declared[$0] ?? []) })
  }()

  /// The lines of a source without comments; a list of parameters is on one line.
  private static func joined(_ source: String) -> [Substring] {
    var text = ""
    var depth = 0
    for line in source.split(separator: "\n") where !line.contains(#/^ *\/\//#) {
      if line.hasPrefix("  public") || line.hasPrefix("  open") { depth = 0 }
      text += depth > 0 ? line.trimmingPrefix { $0 == " " } : "\n" + line
      depth += line.count { $0 == "(" } - line.count { $0 == ")" }
    }
    return text.split(separator: "\n")
  }

  /// The labels of a list of parameters.
  private static func labels(of parameters: Substring) -> String {
    var depth = 0
    var words = [""]
    for character in parameters {
      if "([<".contains(character) { depth += 1 }
      if ")]>".contains(character) { depth -= 1 }
      if depth < 0 { break }
      if character == ",", depth == 0 {
        words.append("")
      } else {
        words[words.count - 1].append(character)
      }
    }
    return words.map { word in
      String(word.trimmingPrefix { $0 == " " }.prefix { $0.isLetter || $0 == "_" })
    }.joined(separator: ":")
  }

  @Test func everyPublicDeclarationIsInTheTable() {
    #expect(Self.declared.count > 40)
    let listed = Set(Self.rows.flatMap(\.names))
    #expect(Set(Self.declared.keys) == listed)
    for (type, members) in Self.declared {
      let named = Set(Self.rows.filter { $0.names.contains(type) }.flatMap(\.members))
      #expect(named == members, "\(type)")
    }
  }

  @Test func theTestsOfTheTableExist() {
    let here = Self.sources(in: "Tests/API/AVFAudioTests")
    let others = Self.sources(in: "Tests/API/ClientTests")
    for row in Self.rows {
      #expect(!row.tests.isEmpty)
      for test in row.tests {
        let words = test.split(separator: ".")
        let isThere =
          words.count == 1
          ? others.contains { $0.contains("struct \(test) {") }
          : here.contains {
            $0.contains("struct \(words[0]) {") && $0.contains(" func \(words[1])(")
          }
        #expect(isThere, "\(row.names): there is no \(test)")
      }
    }
  }
}
