import Foundation
import Graph
import PluginHost
import TestSupport
import Testing

/// The catalog of installed plugins and its cache.
@Suite(.tags(.program), .serialized) struct CatalogTests {
  /// Folders with bundles that are only described.
  private struct Shelf {
    let folder: URL
    var cache: String { folder.appendingPathComponent("cache").path }
    var file: String { cache + "/plugins.json" }
    var folders: BundleFolders { BundleFolders(folder.path + "/bundles:/usr/lib/lv2/none") }

    func write(_ name: String, _ plugins: [(uri: String, name: String)], bundle: String) throws {
      let path = folder.path + "/bundles/" + bundle + ".lv2"
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
      let text = plugins.map { "<\($0.uri)> a lv2:Plugin ; doap:name \"\($0.name)\" ." }
      try """
      @prefix lv2: <http://lv2plug.in/ns/lv2core#> .
      @prefix doap: <http://usefulinc.com/ns/doap#> .
      \(text.joined(separator: "\n"))
      """.write(toFile: path + "/" + name, atomically: true, encoding: .utf8)
    }

    func catalog(_ executable: String? = nil, in folders: BundleFolders? = nil) throws
      -> PluginCatalog
    {
      try PluginCatalog(
        of: folders ?? self.folders,
        by: PluginValidator(
          executable: try executable ?? builtProduct(named: "cuejack").path, cacheFolder: cache))
    }

    /// The names of the plugins if no bundle has to be read.
    var remembered: [String]? { (try? catalog("/no/such/probe"))?.plugins.map(\.name) }
  }

  private func shelf(_ body: (Shelf) throws -> Void) throws {
    try withTemporaryFolder { folder in
      let shelf = Shelf(folder: folder)
      try shelf.write("manifest.ttl", [("urn:x:one", "One")], bundle: "a")
      try shelf.write("manifest.ttl", [("urn:x:two", "Two")], bundle: "b")
      try expectEqual(shelf.catalog().plugins.map(\.name), ["One", "Two"])
      expectEqual(shelf.remembered, ["One", "Two"])
      try body(shelf)
    }
  }

  @Test func onlyBundlesThatHaveChangedAreReadAgain() throws {
    try shelf { shelf in
      let a = shelf.folder.path + "/bundles/a.lv2"
      // Touched.
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSince1970: 1e9)], ofItemAtPath: a + "/manifest.ttl")
      expectNil(shelf.remembered)
      try expectEqual(shelf.catalog().plugins.map(\.name), ["One", "Two"])
      expectEqual(shelf.remembered, ["One", "Two"])
      // Replaced by a file of the same size and time.
      try shelf.write("manifest.ttl", [("urn:x:one", "Uno")], bundle: "a")
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSince1970: 1e9)], ofItemAtPath: a + "/manifest.ttl")
      expectNil(shelf.remembered)
      try expectEqual(shelf.catalog().plugins.map(\.name), ["Uno", "Two"])
      // A bundle more, a file more, and a bundle less.
      try shelf.write("manifest.ttl", [("urn:x:three", "Three")], bundle: "c")
      expectNil(shelf.remembered)
      try expectEqual(shelf.catalog().plugins.map(\.name), ["Uno", "Three", "Two"])
      try shelf.write("more.ttl", [], bundle: "c")
      expectNil(shelf.remembered)
      _ = try shelf.catalog()
      try FileManager.default.removeItem(atPath: a)
      expectEqual(shelf.remembered, ["Three", "Two"])
      // What is gone does not stay in the file.
      try shelf.write("manifest.ttl", [("urn:x:four", "Four")], bundle: "d")
      _ = try shelf.catalog()
      expectTrue(try !String(contentsOfFile: shelf.file, encoding: .utf8).contains("Uno"))
    }
  }

  @Test func aDamagedOrForeignCacheIsReplaced() throws {
    try shelf { shelf in
      let whole = try Data(contentsOf: URL(fileURLWithPath: shelf.file))
      let name = try require(whole.range(of: Data("One".utf8)))
      var changed = whole
      changed[name.lowerBound] = UInt8(ascii: "X")
      let text = String(decoding: whole, as: UTF8.self)
      let body = try require(text.split(separator: "\n", maxSplits: 1).last)
      let other = text.replacingOccurrences(of: "cuejack plugins ", with: "cuejack plugins 1")
      for damaged in [
        changed, whole.dropLast(1), whole.prefix(10), Data(), Data("\n".utf8), Data(body.utf8),
        Data(other.utf8), Data([0, 255, 10, 255]),
      ] {
        try damaged.write(to: URL(fileURLWithPath: shelf.file))
        expectNil(shelf.remembered)
        try expectEqual(shelf.catalog().plugins.map(\.name), ["One", "Two"])
        expectEqual(shelf.remembered, ["One", "Two"])
      }
    }
  }

  /// Neither keeps the other's results from the file.
  @Test func twoAtOnceKeepEachOthersResults() throws {
    try shelf { shelf in
      let cuejack = try builtProduct(named: "cuejack").path
      let first = PluginValidator(executable: cuejack, cacheFolder: shelf.cache)
      let second = PluginValidator(executable: cuejack, cacheFolder: shelf.cache)
      try shelf.write("manifest.ttl", [("urn:x:three", "Three")], bundle: "c")
      try shelf.write("manifest.ttl", [("urn:x:four", "Four")], bundle: "d")
      for (validator, bundle) in [(first, "c"), (second, "d")] {
        _ = try validator.bundle(
          shelf.folder.path + "/bundles/\(bundle).lv2/", in: shelf.folders)
      }
      expectEqual(shelf.remembered?.count, 4)
    }
  }

  /// A bundle that changes after it was read is read again.
  @Test func aChangeDuringTheReadingIsSeen() throws {
    try shelf { shelf in
      let script = shelf.folder.appendingPathComponent("probe").path
      let cuejack = try builtProduct(named: "cuejack").path
      let file = shelf.folder.path + "/bundles/c.lv2/more.ttl"
      try """
      #!/bin/sh
      \(cuejack) plugins probe | while read -r line; do
        echo '# more' >> \(file)
        printf '%s\\n' "$line"
      done
      """.write(toFile: script, atomically: false, encoding: .utf8)
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: script)
      try shelf.write("manifest.ttl", [("urn:x:three", "Three")], bundle: "c")
      try expectEqual(shelf.catalog(script).plugins.count, 3)
      expectNil(shelf.remembered)
      try expectEqual(shelf.catalog().plugins.count, 3)
      expectEqual(shelf.remembered?.count, 3)
    }
  }

  /// Another LV2_PATH may have LV2's own bundle, which names the classes.
  @Test func classesHaveTheNamesOfTheFoldersThatAreSearched() throws {
    try shelf { shelf in
      try shelf.write(
        "manifest.ttl", [("urn:x:three", "Three"), ("urn:x:four", "Four")], bundle: "c")
      let manifest = shelf.folder.path + "/bundles/c.lv2/manifest.ttl"
      let text = try String(contentsOfFile: manifest, encoding: .utf8)
      try (text + "\n<urn:x:four> a lv2:ReverbPlugin .\n")
        .write(toFile: manifest, atomically: true, encoding: .utf8)
      let other = shelf.folder.path + "/other"
      try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: true)
      try FileManager.default.createSymbolicLink(
        atPath: other + "/core.lv2", withDestinationPath: "/usr/lib/lv2/core.lv2")
      func classes(_ folders: BundleFolders) throws -> [String] {
        try shelf.catalog(in: folders).plugins.filter { $0.uri == "urn:x:four" }.map(\.className)
      }
      try expectEqual(classes(shelf.folders), ["Plugin"])
      let both = BundleFolders(shelf.folder.path + "/bundles:" + other)
      try expectEqual(classes(both), ["Reverb Plugin"])
      try expectEqual(classes(shelf.folders), ["Plugin"])
    }
  }

  @Test func aFolderThatCannotBeWrittenIsNoError() throws {
    try shelf { shelf in
      let validator = PluginValidator(
        executable: try builtProduct(named: "cuejack").path, cacheFolder: shelf.file + "/no")
      try expectEqual(PluginCatalog(of: shelf.folders, by: validator).plugins.count, 2)
    }
  }

  @Test func namesAreFound() throws {
    try shelf { shelf in
      try shelf.write(
        "manifest.ttl",
        [
          ("urn:y:one", "Loud"), ("http://y/z#mono", "loud"), ("http://y/x#mono", "Quiet Thing"),
        ], bundle: "e")
      let catalog = try shelf.catalog()
      try expectEqual(catalog.uri(named: "urn:x:one"), "urn:x:one")
      try expectEqual(catalog.uri(named: "two"), "urn:x:two")
      try expectEqual(catalog.uri(named: "x:two"), "urn:x:two")
      try expectEqual(catalog.uri(named: "z#mono"), "http://y/z#mono")
      try expectEqual(catalog.uri(named: "Loud"), "urn:y:one")
      try expectEqual(catalog.uri(named: "QUIET thing"), "http://y/x#mono")
      for name in ["wo", "", "Quiet", "thing", ":two", "Two "] {
        try expectNil(catalog.uri(named: name), "\(name)")
      }
      for (name, uris) in [
        ("one", ["urn:x:one", "urn:y:one"]), ("LOUD", ["http://y/z#mono", "urn:y:one"]),
        ("mono", ["http://y/x#mono", "http://y/z#mono"]),
      ] {
        #expect(throws: HostError.ambiguousPlugin(name: name, uris: uris)) {
          try catalog.uri(named: name)
        }
      }
    }
  }
}
