import Foundation
import TestSupport
import Testing

/// The pages' links, sizes and tables.
@Suite struct LinkTests {
  @Test(arguments: Page.all) func everyRelativeLinkHasADestination(page: Page) {
    expectTrue(!page.text.isEmpty)
    let folder = (page.path as NSString).deletingLastPathComponent
    for link in page.links where !link.contains("://") && !link.hasPrefix("mailto:") {
      let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
      let path =
        parts[0].isEmpty
        ? page.path
        : URL(fileURLWithPath: "/\(folder)/\(parts[0])").standardizedFileURL.path.dropFirst()
          .description
      let file = repository.appendingPathComponent(path)
      expectTrue(FileManager.default.fileExists(atPath: file.path), "\(page): \(link)")
      guard parts.count == 2 else { continue }
      expectTrue(Page(path).anchors.contains(String(parts[1])), "\(page): no heading for \(link)")
    }
  }

  @Test func theReadmeHasAtMostSevenHundredWords() {
    let words = Page("README.md").text.split(whereSeparator: \.isWhitespace).count
    expectTrue(words <= 700 && words > 100, "\(words) words")
  }

  /// A reader finds every page from README.
  @Test func theReadmeLinksToEveryPage() {
    let links = Set(Page("README.md").links.map { $0.prefix { $0 != "#" } })
    for page in Page.documentation where page.path != "README.md" {
      expectTrue(links.contains(page.path[...]), "\(page)")
    }
  }

  /// A cell is read at a glance, or it is a paragraph.
  @Test(arguments: Page.documentation) func noCellIsLong(page: Page) {
    for line in page.lines where line.hasPrefix("| ") {
      for cell in line.split(separator: "|") {
        expectTrue(cell.count <= 400, "\(page): \(cell.prefix(60))… has \(cell.count) characters")
      }
    }
  }

  /// The tables of hops in architecture.md have the function in the third column and its file in the
  /// fourth.
  @Test func theFunctionsOfABuffersPathExist() throws {
    var hops = 0
    for line in Page("docs/architecture.md").lines {
      let slots = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      guard slots.count == 5, slots[0].firstMatch(of: /^\d+[a-z]?$/) != nil else { continue }
      hops += 1
      let name = try require(Page.codeSpans(in: slots[2]).first)
      let link = try require(slots[3].firstMatch(of: /\]\(\.\.\/([^)]+)\)/))
      let source = text(of: repository.appendingPathComponent(String(link.output.1)))
      let words = link.output.1.hasSuffix(".h") ? ["\(name)("] : ["func \(name)(", "func \(name)<"]
      expectTrue(words.contains { source.contains($0) }, "\(link.output.1) has no \(name)")
    }
    expectTrue(hops >= 20)
  }

  /// architecture.md names a test for each limit of libsndfile, and SndfileLimitsTests has no others.
  @Test func eachLimitOfLibsndfileHasItsTest() {
    let named = Page("docs/architecture.md").lines.filter { $0.hasPrefix("| ") }
      .compactMap { Page.codeSpans(in: $0).last }.filter { $0.hasPrefix("libsndfile") }
    let tests = text(
      of: repository.appendingPathComponent("Tests/Unit/FilesTests/SndfileLimitsTests.swift"))
    let present = tests.matches(of: /@Test func (\w+)\(/).map { String($0.output.1) }
    expectTrue(named.sorted() == present.sorted() && named.count > 5)
  }

  /// architecture.md names each folder of `Sources`, in the picture of the modules or below it.
  @Test func thePageOfTheArchitectureNamesEveryModule() throws {
    let page = Page("docs/architecture.md")
    let picture = try require(page.blocks.first)
    let folders = try FileManager.default.contentsOfDirectory(
      atPath: repository.appendingPathComponent("Sources").path)
    let named = Set(picture.text.matches(of: /\w+/).map { String($0.output) } + page.codeSpans)
    for folder in folders { expectTrue(named.contains(folder), "\(folder)") }
    for match in picture.text.matches(of: /(?m)^ (\w+)/) {
      expectTrue(folders.contains(String(match.output.1)), "there is no Sources/\(match.output.1)")
    }
  }

  @Test func aPageIsReadAsMarkdown() {
    let page = Page("docs/command.md")
    expectTrue(page.anchors.contains("cuejack-play") && page.anchors.contains("exit-codes"))
    expectEqual(page.blocks.first?.language, "sh")
    expectTrue(page.section(ofCommand: "info").contains { $0.contains("--json") })
    expectTrue(page.links.contains("plugins.md#checking-a-plugin"))
  }
}
