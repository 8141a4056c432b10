import Foundation
import Graph
import PluginHost
import TestSupport

/// A test bundle with one plugin, `urn:fixture`.
struct Fixture {
  static let uri = "urn:fixture"
  let folder: URL
  /// Path of the bundle.
  var bundle: String { folder.appendingPathComponent("fixture.lv2").path + "/" }
  /// The folders for lilv: this bundle and LV2's own.
  var path: String { folder.path + ":/usr/lib/lv2" }

  /// Ports of every fixture.
  static let sound = """
    [ a lv2:AudioPort, lv2:InputPort ; lv2:index 0 ; lv2:symbol "in" ; lv2:name "In" ] ,
    [ a lv2:AudioPort, lv2:OutputPort ; lv2:index 1 ; lv2:symbol "out" ; lv2:name "Out" ]
    """

  /// - Parameters:
  ///   - kind: A macro that selects the behaviour of plugin.c.
  ///   - source: Name of its source among the fixtures.
  ///   - ports: Its ports, in Turtle.
  ///   - facts: Additional Turtle about the plugin.
  ///   - brought: Name of the library brought.c, which the plugin's library depends on; nil for none.
  init(
    in folder: URL, _ kind: String = "SOUND", source: String = "plugin",
    ports: String = Fixture.sound, facts: String = "",
    hasLibrary: Bool = true, brought: String? = nil
  ) throws {
    self.folder = folder
    try FileManager.default.createDirectory(atPath: bundle, withIntermediateDirectories: true)
    let prefixes = """
      @prefix lv2: <http://lv2plug.in/ns/lv2core#> .
      @prefix atom: <http://lv2plug.in/ns/ext/atom#> .
      @prefix doap: <http://usefulinc.com/ns/doap#> .
      @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
      @prefix pprop: <http://lv2plug.in/ns/ext/port-props#> .

      """
    try write(
      prefixes
        + "<urn:fixture> a lv2:Plugin ; lv2:binary <fixture.so> ; rdfs:seeAlso <fixture.ttl> .",
      to: "manifest.ttl")
    try write(
      prefixes
        + "<urn:fixture> a lv2:Plugin ; doap:name \"Fixture\" ; \(facts) lv2:port \(ports) .",
      to: "fixture.ttl")
    if let brought { try compile("brought", [], to: brought) }
    if hasLibrary {
      let needs = brought.map { [bundle + $0, "-Wl,-rpath,$ORIGIN"] } ?? []
      try compile(source, ["-D\(kind)"] + needs, to: "fixture.so")
    }
  }

  /// Creates a plugin that copies its MIDI and transport events, with a control `x`.
  ///
  /// - Parameter hasLatency: Whether it has a latency port.
  static func echo(in folder: URL, hasLatency: Bool = false) throws -> PluginInstance {
    let latency = """
      , [ a lv2:ControlPort, lv2:OutputPort ; lv2:index 3 ; lv2:symbol "latency" ; lv2:name "Latency" ;
        lv2:portProperty lv2:reportsLatency ]
      """
    let fixture = try Fixture(
      in: folder, "ECHOES",
      ports: """
        [ a atom:AtomPort, lv2:InputPort ; lv2:index 0 ; lv2:symbol "in" ; lv2:name "In" ;
          atom:supports <http://lv2plug.in/ns/ext/midi#MidiEvent> ,
            <http://lv2plug.in/ns/ext/time#Position> ] ,
        [ a atom:AtomPort, lv2:OutputPort ; lv2:index 1 ; lv2:symbol "out" ; lv2:name "Out" ] ,
        [ a lv2:ControlPort, lv2:InputPort ; lv2:index 2 ; lv2:symbol "x" ; lv2:name "X" ]
        """ + (hasLatency ? latency : ""),
      facts: "lv2:requiredFeature <http://lv2plug.in/ns/ext/urid#map> ;")
    return try PluginInstance(Fixture.uri, in: World(path: fixture.path), settings: usual)
  }

  private func compile(_ name: String, _ options: [String], to library: String) throws {
    let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("Fixtures/\(name).c").path
    let result = try TestSupport.run(
      try SwiftToolchain().clang,
      [
        "-Wall", "-Wextra", "-Werror", "-Wno-unused-const-variable", "-Wno-unused-function",
        "-fPIC", "-shared", "-o", bundle + library, source,
      ] + options + ["-lm"])
    if result.status != 0 { throw SupportError("\(name), \(options): \(result.errors)") }
  }

  func write(_ text: String, to file: String) throws {
    try text.write(toFile: bundle + file, atomically: false, encoding: .utf8)
  }

  func validator(cache: String? = nil, patience: Double = 20) throws -> PluginValidator {
    PluginValidator(
      executable: try builtProduct(named: "cuejack").path, cacheFolder: cache, patience: patience)
  }
}
