import CLilv
import Foundation
import TestSupport
import Testing

extension PluginsTests {
  /// The bundles as files.
  @Suite(.tags(.program)) struct BundleTests {
    init() throws { _ = try Bundles.shared }

    private func file(_ name: String, _ suffix: String) -> String {
      Bundles.folder.appendingPathComponent("\(name).lv2/\(name).\(suffix)").path
    }

    private func turtle(in folder: URL) throws -> [String] {
      try FileManager.default.subpathsOfDirectory(atPath: folder.path)
        .filter { $0.hasSuffix(".ttl") }.map { folder.appendingPathComponent($0).path }.sorted()
    }

    /// Runs sord's validator with LV2's own specifications.
    private func validate(_ files: [String]) throws -> CommandResult {
      let specifications = URL(fileURLWithPath: "/usr/lib/lv2")
      let folders = try FileManager.default.contentsOfDirectory(atPath: specifications.path)
        .filter { folder in
          // Folders of lv2-dev only: a plugin's folder has a library.
          text(of: specifications.appendingPathComponent("\(folder)/manifest.ttl"))
            .contains("a lv2:Specification") || folder == "schemas.lv2"
        }
      let known = try folders.flatMap { try turtle(in: specifications.appendingPathComponent($0)) }
      return try run("sord_validate", known + files)
    }

    @Test func theTurtleIsValid() throws {
      let folder = Bundles.folder
      let files = try turtle(in: folder)
      expectEqual(files.count, 26)
      let result = try validate(files)
      expectTrue(result.status == 0 && result.errors.isEmpty, "\(result.output)\(result.errors)")
      // Check that the validator detects a port without a symbol.
      try withTemporaryFolder { work in
        let wrong = work.appendingPathComponent("wrong.ttl")
        let right = text(of: URL(fileURLWithPath: file("limiter", "ttl")))
        try Data(right.replacingOccurrences(of: "lv2:symbol \"gain\" ;", with: "").utf8).write(
          to: wrong)
        let result = try validate([wrong.path])
        expectTrue(result.errors.contains("symbol"), "\(result.output)\(result.errors)")
      }
    }

    @Test(arguments: Bundles.names + ["convolver", "soundfont"])
    func aLibraryNeedsTheCLibraryOnly(name: String) throws {
      let library = file(name, "so")
      let needs = try run("readelf", ["-d", library])
      let libraries = needs.output.matches(of: #/\(NEEDED\).*\[(.*)\]/#).map { String($0.output.1) }
      expectEqual(Set(libraries).subtracting(["libm.so.6"]), ["libc.so.6"])
      expectTrue(!needs.output.contains("RUNPATH") && !needs.output.contains("RPATH"))
      let symbols = try run("nm", ["-D", library])
      let defined = symbols.output.matches(of: #/ [A-TV-Z] (\S+)/#).map { String($0.output.1) }
      expectEqual(defined, ["lv2_descriptor"])
      expectTrue(!symbols.output.contains("swift"), "\(symbols.output)")
    }

    @Test(arguments: Bundles.plugins) func aPluginIsDescribedInFull(name: String) throws {
      let bundles = try Bundles.shared
      let plugin = try bundles.plugin(name)
      expectTrue(lilv_plugin_verify(plugin))
      let hardRTCapable = lilv_new_uri(bundles.world, "\(lv2)hardRTCapable")
      defer { lilv_node_free(hardRTCapable) }
      expectTrue(lilv_plugin_has_feature(plugin, hardRTCapable))
      let required = lilv_plugin_get_required_features(plugin)
      defer { lilv_nodes_free(required) }
      expectEqual(lilv_nodes_size(required), 0)
      expectEqual(lilv_plugin_has_latency(plugin), name.hasPrefix("limiter"))
      // Hosts bypass the plugin by this port.
      let designation = lilv_new_uri(bundles.world, "\(lv2)enabled")
      let input = lilv_new_uri(bundles.world, "\(lv2)InputPort")
      defer { lilv_node_free(designation) }
      defer { lilv_node_free(input) }
      let enabled = try require(
        lilv_plugin_get_port_by_designation(plugin, input, designation))
      let index = try Plugin(name).controls["enabled"]
      expectEqual(Int(lilv_port_get_index(plugin, enabled)), index)
    }

    /// The library contains exactly the plugins in the Turtle files.
    @Test(arguments: Bundles.names) func theLibraryHasWhatTheTurtleSays(name: String) throws {
      let handle = try require(dlopen(file(name, "so"), RTLD_NOW | RTLD_LOCAL))
      defer { dlclose(handle) }
      typealias Descriptor = @convention(c) (UInt32) -> UnsafePointer<LV2_Descriptor>?
      let descriptor = unsafeBitCast(
        try require(dlsym(handle, "lv2_descriptor")), to: Descriptor.self)
      let found = (0..<4 as Range<UInt32>).map { index in
        descriptor(index).map { String(cString: $0.pointee.URI) }
      }
      expectEqual(found, [Bundles.uri(name), Bundles.uri("\(name)-mono"), nil, nil])
    }

    @Test func nothingIsBuiltTwice() throws {
      let said = try Bundles.make()
      expectTrue(!said.contains("Compiling"), "\(said)")
    }
  }
}
