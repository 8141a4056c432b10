import Foundation
import TestSupport
import Testing

/// Rules of the project that can be checked in the sources.
@Suite struct HouseTests {
  private static let modules = files(in: "Sources", endingWith: "").filter {
    !files(in: "Sources/\($0)", endingWith: ".swift", deep: true).isEmpty
  }

  /// Returns the names of a folder's entries, or all paths below it.
  private static func files(in folder: String, endingWith end: String, deep: Bool = false)
    -> [String]
  {
    let path = repository.appendingPathComponent(folder).path
    let names =
      deep
      ? FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String }
      : try? FileManager.default.contentsOfDirectory(atPath: path)
    return (names ?? []).filter { $0.hasSuffix(end) }.sorted()
  }

  /// The sources of a module, without the programs that its documentation shows.
  private static func sources(of module: String, endingWith end: String = ".swift") -> [(
    name: String, text: String
  )] {
    let folder = "Sources/\(module)"
    let names = files(in: folder, endingWith: end, deep: true).filter { !$0.contains(".docc/") }
    expectTrue(!names.isEmpty, "\(folder)")
    return names.map { ($0, text(of: repository.appendingPathComponent("\(folder)/\($0)"))) }
  }

  private static func imports(of text: String) -> [String] {
    text.split(separator: "\n").compactMap { line in
      // The regular expression takes long on the many lines that import nothing.
      guard line.contains("import") else { return nil }
      return line.firstMatch(
        of:
          #/
          ^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|package|internal|fileprivate|private)\s+)?
          import\s+(?:(?:struct|class|enum|protocol|func|var|let|typealias)\s+)?(\w+)
          /#
      ).map { String($0.output.1) }
    }
  }

  @Test func anImportIsReadHoweverItIsWritten() {
    let text = """
      import A
      public import B
        @preconcurrency import C
      @_exported @testable internal import D
      import struct E.Name
      // import F
      let important = 1
      """
    expectEqual(Self.imports(of: text), ["A", "B", "C", "D", "E"])
  }

  /// SwiftPM's own check lets a target import the dependencies of its dependencies, says nothing
  /// of dependencies that no file imports, and takes an import of the C module CoreFoundation for one of the
  /// target that imports it.
  @Test(arguments: modules) func theImportsAreTheDependenciesOfTheManifest(module: String) throws {
    let target = try Regex(#"arget\(\s*name: "\#(module)"(.*?)ettings:"#).dotMatchesNewlines()
    let block = try require(
      text(of: repository.appendingPathComponent("Package.swift")).firstMatch(of: target))
    let declared = block[0].substring!.matches(of: #/"(\w+)"/#).map { String($0.output.1) }
    let imported = Self.sources(of: module).flatMap { Self.imports(of: $0.text) }
    let others = Set(Self.files(in: "Sources", endingWith: "")).subtracting([module])
    expectEqual(others.intersection(imported), others.intersection(declared))
  }

  @Test func theImportsOfProgramsAndTestsAreDependencies() {
    let targets = text(of: repository.appendingPathComponent("Package.swift"))
      .matches(of: #/arget\(\s*name: "([\w-]+)"([^()]*(?:\([^()]*\)[^()]*)*?)path: "([^"]+)"/#)
    expectTrue(targets.count > 40)
    let names = Set(targets.map { String($0.output.1) } + Self.files(in: "Sources", endingWith: ""))
    for target in targets {
      let declared = target.output.2.matches(of: #/"(\w+)"/#).map { String($0.output.1) }
      for name in Self.files(in: String(target.output.3), endingWith: ".swift", deep: true) {
        // The imports are at the top. Programs that are texts in a test are indented.
        let imported =
          text(of: repository.appendingPathComponent("\(target.output.3)/\(name)"))
          .split(separator: "\n", maxSplits: 40).prefix(40).compactMap { line in
            let words = line.split(separator: " ")
            guard !line.hasPrefix(" "), let word = words.firstIndex(of: "import") else {
              return nil
            }
            return words.dropFirst(word + 1).first.map(String.init)
          } as [String]
        let wrong = names.intersection(imported).subtracting(declared)
        expectTrue(wrong.isEmpty, "\(target.output.3)/\(name) imports \(wrong.sorted())")
      }
    }
  }

  /// The command contains Swift's runtime and FoundationEssentials. It is not linked to the rest of
  /// Foundation, which has Core Foundation in it.
  @Test func onlyTheCAPIUsesFoundation() {
    for module in Self.modules
    where !["AVFAudio", "AudioToolbox", "CoreFoundation"].contains(module) {
      for (name, text) in Self.sources(of: module) {
        let wrong = Set(Self.imports(of: text)).intersection(["Foundation", "CoreFoundation"])
        expectTrue(wrong.isEmpty, "Sources/\(module)/\(name) imports \(wrong.sorted())")
      }
    }
  }

  @Test func theRealTimeModulesImportNothingElse() {
    let ours = Self.files(in: "Sources", endingWith: "")
    for module in ["RealTime", "Timeline"] {
      for (name, text) in Self.sources(of: module) {
        let wrong = Set(Self.imports(of: text)).subtracting(ours + ["Synchronization"])
        expectTrue(wrong.isEmpty, "Sources/\(module)/\(name) imports \(wrong.sorted())")
      }
    }
  }

  /// Other hosts load the plugins, without a runtime of Cuejack or Swift.
  @Test func thePluginsImportNothingElse() {
    let names = Self.files(in: "Plugins", endingWith: ".swift", deep: true)
    expectTrue(!names.isEmpty)
    for name in names {
      let text = text(of: repository.appendingPathComponent("Plugins/\(name)"))
      let wrong = Set(Self.imports(of: text)).subtracting([
        "CConvolver", "CFile", "CPlugin", "CSoundFont",
      ])
      expectTrue(wrong.isEmpty, "Plugins/\(name) imports \(wrong.sorted())")
      expectTrue(!text.contains("_unsafePerformance") && !text.contains("no_performance_analysis"))
    }
  }

  /// `Expectations.swift` says why.
  @Test func theTestsCallFunctionsInPlaceOfSlowMacros() {
    let slow = #/#(?:expect|require)\((?!\s*(?:throws|processExitsWith))/#
    for name in Self.files(in: "Tests", endingWith: "Tests.swift", deep: true)
    where name != "Project/HouseTests/HouseTests.swift" {
      let text = text(of: repository.appendingPathComponent("Tests/\(name)"))
      expectNil(text.firstMatch(of: slow)?.output, "Tests/\(name)")
    }
  }

  /// Annotations that suppress the compiler's check of real-time code.
  @Test(arguments: ["RealTime", "Timeline", "CRealTime", "CPluginRunner"])
  func nothingSilencesTheCheckOfRealTimeCode(module: String) {
    for (name, text) in Self.sources(of: module, endingWith: "") {
      for silencer in ["_unsafePerformance", "no_performance_analysis"] {
        expectTrue(!text.contains(silencer), "Sources/\(module)/\(name) contains \(silencer)")
      }
    }
  }

  /// A new machine installs the packages in packages.txt, which must include every system library.
  @Test func everySystemLibraryIsInThePackageList() throws {
    let listed = text(of: repository.appendingPathComponent("packages.txt"))
      .split(separator: "\n").filter { !$0.hasPrefix("#") }
    let manifest = text(of: repository.appendingPathComponent("Package.swift"))
    let wanted = manifest.matches(of: #/\.apt\(\[([^\]]*)\]\)/#).flatMap {
      $0.output.1.matches(of: #/"([^"]+)"/#).map { String($0.output.1) }
    }
    expectTrue(!wanted.isEmpty)
    for package in wanted { expectTrue(listed.contains { $0 == package }, "\(package)") }
  }

  @Test func noFolderIsCrowded() {
    for module in Self.modules {
      let files = Self.files(in: "Sources/\(module)", endingWith: ".swift", deep: true)
      for (folder, files) in Dictionary(
        grouping: files, by: { $0.split(separator: "/").dropLast() })
      {
        expectTrue(files.count <= 16, "Sources/\(module)/\(folder.joined(separator: "/"))")
      }
    }
  }

  @Test(arguments: modules) func noFileIsLong(module: String) {
    for (name, text) in Self.sources(of: module) {
      let lines = text.utf8.count { $0 == UInt8(ascii: "\n") }
      expectTrue(lines <= 500, "Sources/\(module)/\(name) has \(lines) lines")
    }
  }
}
