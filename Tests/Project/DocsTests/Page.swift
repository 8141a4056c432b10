import Foundation
import TestSupport

/// A Markdown page of the repository.
struct Page: CustomStringConvertible, Sendable {
  struct Block: CustomStringConvertible, Sendable {
    let page: String
    /// The language after the opening fence; empty if there is none.
    let language: String
    let text: String
    var description: String { "\(page), \(language), \(text.prefix { $0 != "\n" })" }
  }

  /// Path in the repository.
  let path: String
  /// The fenced code blocks, in order.
  private(set) var blocks: [Block] = []
  /// The lines outside the fenced code blocks.
  private(set) var lines: [String] = []
  let text: String

  var description: String { path }

  init(_ path: String) {
    self.init(path, text: TestSupport.text(of: repository.appendingPathComponent(path)))
  }

  /// The documentation comments of a Swift file as a page.
  init(commentsOf path: String) {
    let lines = TestSupport.text(of: repository.appendingPathComponent(path))
      .components(separatedBy: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
    self.init(
      path,
      text: lines.filter { $0.hasPrefix("///") }
        .map { String($0.dropFirst($0.hasPrefix("/// ") ? 4 : 3)) }.joined(separator: "\n"))
  }

  private init(_ path: String, text: String) {
    self.path = path
    self.text = text
    var language: String?
    var code: [String] = []
    for line in text.components(separatedBy: "\n") {
      let trimmed = line.trimmingCharacters(in: .whitespaces)
      if trimmed.hasPrefix("```") {
        if let name = language {
          blocks.append(
            Block(page: path, language: name, text: code.joined(separator: "\n") + "\n"))
          language = nil
        } else {
          language = String(trimmed.dropFirst(3))
          code = []
        }
      } else if language != nil {
        code.append(line)
      } else {
        lines.append(line)
      }
    }
  }

  /// README, CONTRIBUTING, every page of `docs`, and the table of tests.
  static let all: [Page] = {
    let docs = repository.appendingPathComponent("docs").path
    let names = (try? FileManager.default.contentsOfDirectory(atPath: docs)) ?? []
    return
      (["README.md", "CONTRIBUTING.md", "Tests/API/APITests/semantics.md"]
      + names.filter { $0.hasSuffix(".md") }.sorted().map { "docs/\($0)" }).map { Page($0) }
  }()

  /// The pages for users.
  static let documentation = all.filter { $0.path == "README.md" || $0.path.hasPrefix("docs/") }

  /// The contents of inline code spans.
  var codeSpans: [String] { lines.flatMap(Self.codeSpans) }

  static func codeSpans(in line: String) -> [String] {
    line.matches(of: /`([^`]+)`/).map { String($0.output.1) }
  }

  /// The destinations of all links.
  var links: [String] {
    lines.flatMap { line in
      line.replacing(/`[^`]*`/, with: "").matches(of: /\]\(([^)\s]+)\)/)
        .map { String($0.output.1) }
    }
  }

  /// The names that links use for the headings, as GitHub forms them.
  var anchors: Set<String> {
    Set(
      lines.filter { $0.hasPrefix("#") }.map { line in
        line.drop { $0 == "#" }.trimmingCharacters(in: .whitespaces).lowercased()
          .filter { $0.isLetter || $0.isNumber || " -_".contains($0) }
          .replacing(" ", with: "-")
      })
  }

  /// Returns the lines below the headings of level 2 that mention `name` in code, up to the next
  /// heading of that level.
  func section(ofCommand name: String) -> [String] {
    var isInside = false
    return lines.filter { line in
      if line.hasPrefix("## ") { isInside = line == "## `cuejack \(name)`" }
      return isInside
    }
  }
}
