import Foundation
import TestSupport
import Testing

/// Checks that the tables in semantics.md, manners.md and names.md are complete and name existing tests.
@Suite struct TableTests {
  private struct Row {
    let line: String
    let suites: [String]
    let onServer: String
  }

  private static let rows: [Row] = {
    let file = repository.appendingPathComponent("Tests/API/APITests/semantics.md")
    let text = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
    return text.split(separator: "\n").filter { $0.hasPrefix("| ") }.dropFirst(2).map { line in
      let slots = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      return Row(line: slots[0], suites: slots[2].components(separatedBy: ", "), onServer: slots[3])
    }
  }()

  /// The parts that each program passes.
  private static let passes = ProgramCase.all.reduce(into: [String: Set<String>]()) {
    $0[$1.program, default: []].formUnion($1.passes)
  }

  /// Names of all test suites.
  private static let suites: Set<String> = {
    let tests = repository.appendingPathComponent("Tests")
    let files = FileManager.default.enumerator(at: tests, includingPropertiesForKeys: nil)
    var names: Set<String> = []
    while let file = files?.nextObject() as? URL {
      guard file.pathExtension == "swift",
        let text = try? String(contentsOf: file, encoding: .utf8)
      else { continue }
      for match in text.matches(of: /struct ([A-Za-z]+Tests)\b/) { names.insert(String(match.1)) }
      // A test target is listed by its folder's name.
      names.insert(file.deletingLastPathComponent().lastPathComponent)
    }
    return names
  }()

  @Test func everyLineHasItsTests() {
    expectEqual(Self.rows.map(\.line), (1...68).map(String.init) + ["last"])
    for row in Self.rows {
      expectTrue(!row.suites.isEmpty && !row.onServer.isEmpty, "line \(row.line)")
    }
  }

  /// After a program's name follow the parts that it passes, or none for all of them; a note may come
  /// last.
  @Test func thePartsThatTheTableNamesAreThere() {
    for row in Self.rows {
      checkParts(of: row.onServer, "line \(row.line)")
    }
  }

  private func checkParts(of tests: String, _ line: String) {
    for match in tests.matches(of: /`([a-z_]+\.cc?)`: ([^;(]+)/) {
      guard let parts = Self.passes[String(match.1)] else { continue }
      var left = match.2[...]
      while !left.isEmpty, left != "all" {
        let part = parts.filter { left.hasPrefix($0) }.max { $0.count < $1.count }
        guard let part else {
          Issue.record("\(line): \(match.1) has no part '\(left)'")
          break
        }
        left = left.dropFirst(part.count).trimmingPrefix(while: { ", ".contains($0) })
      }
    }
  }

  /// Each form of Swift programs for Apple's systems is in the programs that its row names.
  @Test func everyFormIsInItsPrograms() {
    let file = repository.appendingPathComponent("Tests/API/APITests/forms.md")
    let rows = text(of: file).matches(of: /\n\| `([^`]+)` \| ([a-z, ]+) \|/)
    expectTrue(rows.count > 40 && rows.count == text(of: file).matches(of: /\n\| `/).count)
    for row in rows {
      for name in row.output.2.components(separatedBy: ", ") {
        let program = text(of: SwiftProgram(name).source)
        expectTrue(program.contains(row.output.1), "\(name).swift has no \(row.output.1)")
      }
    }
  }

  /// Each manner of programs, and each name that they use around sound, has a part of a program of ours, or a suite.
  @Test(arguments: [("manners.md", 58), ("names.md", 17)])
  func everyRowHasItsTests(name: String, count: Int) throws {
    let file = repository.appendingPathComponent("Tests/API/APITests/\(name)")
    let text = try String(contentsOf: file, encoding: .utf8)
    let rows = text.split(separator: "\n").filter {
      $0.hasPrefix("| ") && !$0.hasPrefix("| manner") && !$0.hasPrefix("| name")
        && !$0.hasPrefix("| ---")
    }
    expectEqual(rows.count, count)
    for row in rows {
      let slots = row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      try require(slots.count >= 2 && !slots[slots.count - 1].isEmpty, "\(row)")
      let tests = slots[slots.count - 1]
      for item in tests.components(separatedBy: "; ") where !item.hasPrefix("`") {
        expectTrue(Self.suites.contains(item), "\(slots[0]): there is no \(item)")
      }
      for match in tests.matches(of: /`([^`]+)`/) {
        expectTrue(Self.passes[String(match.1)] != nil, "\(slots[0]): there is no \(match.1)")
      }
      checkParts(of: tests, slots[0])
    }
  }

  @Test func whatTheTableNamesIsThere() throws {
    let folder = repository.appendingPathComponent("Tests/API/APITests/Programs")
    let programs = try Set(FileManager.default.contentsOfDirectory(atPath: folder.path))
    for row in Self.rows {
      for suite in row.suites where !Self.suites.contains(suite) {
        Issue.record("line \(row.line): there is no \(suite)")
      }
      for match in row.onServer.matches(of: /[a-z_]+\.(c|cc)\b/) {
        if !programs.contains(String(match.0)) {
          Issue.record("line \(row.line): there is no \(match.0)")
        }
      }
      for match in row.onServer.matches(of: /[A-Z][A-Za-z]+Tests\b/) {
        if !Self.suites.contains(String(match.0)) {
          Issue.record("line \(row.line): there is no \(match.0)")
        }
      }
    }
  }
}
