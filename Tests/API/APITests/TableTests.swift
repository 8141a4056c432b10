import Foundation
import TestSupport
import Testing

/// Checks that the table in semantics.md is complete and names existing tests.
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
    #expect(Self.rows.map(\.line) == (1...64).map(String.init) + ["last"])
    for row in Self.rows {
      #expect(!row.suites.isEmpty && !row.onServer.isEmpty, "line \(row.line)")
    }
  }

  /// After a program's name follow the parts that it passes, or none for all of them; a note may come
  /// last.
  @Test func thePartsThatTheTableNamesAreThere() throws {
    var passes: [String: Set<String>] = [:]
    for program in ProgramCase.all {
      passes[program.program, default: []].formUnion(program.passes)
    }
    for row in Self.rows {
      for match in row.onServer.matches(of: /`([a-z_]+\.cc?)`: ([^;(]+)/) {
        guard let parts = passes[String(match.1)] else { continue }
        var left = match.2[...]
        while !left.isEmpty, left != "all" {
          let part = parts.filter { left.hasPrefix($0) }.max { $0.count < $1.count }
          guard let part else {
            Issue.record("line \(row.line): \(match.1) has no part '\(left)'")
            break
          }
          left = left.dropFirst(part.count).trimmingPrefix(while: { ", ".contains($0) })
        }
      }
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
