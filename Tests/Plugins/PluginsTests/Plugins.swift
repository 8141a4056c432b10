import CLilv
import Foundation
import TestSupport
import Testing

/// Prefix of LV2's core vocabulary.
let lv2 = "http://lv2plug.in/ns/lv2core#"
/// Prefix of the presets vocabulary.
let pset = "http://lv2plug.in/ns/ext/presets#"

/// All plugin tests. They run serially, because a lilv world supports one thread at a time.
@Suite(.tags(.program), .serialized) struct PluginsTests {}

/// Cuejack's bundles, rebuilt if necessary, and lilv's view of them.
final class Bundles: @unchecked Sendable {
  private static let made = Result { try Bundles() }
  static var shared: Bundles { get throws { try made.get() } }

  static let names = [
    "channel-strip", "dc-blocker", "delay", "distortion", "dynamics", "graphic-eq", "limiter",
    "meter",
    "parametric-eq", "preset-eq",
  ]
  /// The stereo and the mono plugin of each bundle, by the last part of their URIs.
  static let plugins = names.flatMap { [$0, "\($0)-mono"] }

  static let folder = repository.appendingPathComponent(".build/lv2")
  let world: OpaquePointer

  private init() throws {
    try Self.make()
    world = lilv_world_new()
    for name in Self.names {
      let uri = lilv_new_file_uri(world, nil, "\(Self.folder.path)/\(name).lv2/")
      lilv_world_load_bundle(world, uri)
      lilv_node_free(uri)
    }
  }

  /// Builds the bundles that have changed. Returns the output of `make`.
  @discardableResult
  static func make() throws -> String {
    let result = try run(
      "make", ["--no-print-directory", "-C", "Plugins", "OUT=\(folder.path)"], folder: repository)
    guard result.status == 0 else { throw SupportError("\(result.output)\(result.errors)") }
    return result.output
  }

  /// Environment for commands that load the bundles.
  var environment: [String: String] { ["LV2_PATH": Self.folder.path] }

  static func uri(_ name: String) -> String { "urn:cuejack:plugins:\(name)" }

  func plugin(_ name: String) throws -> OpaquePointer {
    let uri = lilv_new_uri(world, Self.uri(name))
    defer { lilv_node_free(uri) }
    guard let plugin = lilv_plugins_get_by_uri(lilv_world_get_all_plugins(world), uri) else {
      throw SupportError("lilv finds no \(name)")
    }
    return plugin
  }
}

/// A running instance of one of Cuejack's plugins, with the default control values.
final class Plugin {
  struct Change {
    var frame: Int
    var symbol: String
    var value: Float
  }

  let name: String
  let rate: Double
  private let instance: UnsafeMutablePointer<LilvInstance>
  private let ports: Int
  let inputs: [Int]
  let outputs: [Int]
  /// The index of each control port.
  let controls: [String: Int]
  /// The limits of each control input.
  private(set) var ranges: [String: ClosedRange<Float>] = [:]
  private let values: UnsafeMutablePointer<Float>

  init(_ name: String, rate: Double = 48000, _ settings: [String: Float] = [:]) throws {
    let bundles = try Bundles.shared
    let world = bundles.world
    let plugin = try bundles.plugin(name)
    guard let instance = lilv_plugin_instantiate(plugin, rate, nil) else {
      throw SupportError("\(name) cannot be instantiated at \(rate)")
    }
    self.name = name
    self.rate = rate
    self.instance = instance
    let count = Int(lilv_plugin_get_num_ports(plugin))
    ports = count
    values = .allocate(capacity: count)
    values.initialize(repeating: 0, count: count)
    var least = [Float](repeating: 0, count: count)
    var most = least
    var defaults = least
    lilv_plugin_get_port_ranges_float(plugin, &least, &most, &defaults)
    let classes = ["InputPort", "AudioPort"].map { lilv_new_uri(world, "\(lv2)\($0)") }
    defer { for node in classes { lilv_node_free(node) } }
    var inputs: [Int] = []
    var outputs: [Int] = []
    var controls: [String: Int] = [:]
    for index in 0..<count {
      let port = lilv_plugin_get_port_by_index(plugin, UInt32(index))
      let symbol = String(cString: lilv_node_as_string(lilv_port_get_symbol(plugin, port)))
      let isInput = lilv_port_is_a(plugin, port, classes[0])
      if lilv_port_is_a(plugin, port, classes[1]) {
        if isInput { inputs.append(index) } else { outputs.append(index) }
        continue
      }
      controls[symbol] = index
      if isInput {
        values[index] = defaults[index]
        ranges[symbol] = least[index]...most[index]
      }
      lilv_instance_connect_port(instance, UInt32(index), values + index)
    }
    self.inputs = inputs
    self.outputs = outputs
    self.controls = controls
    for (symbol, value) in settings { self[symbol] = value }
    lilv_instance_activate(instance)
  }

  deinit {
    lilv_instance_deactivate(instance)
    lilv_instance_free(instance)
    values.deallocate()
  }

  subscript(symbol: String) -> Float {
    get { values[number(symbol)] }
    set { values[number(symbol)] = newValue }
  }

  private func number(_ symbol: String) -> Int {
    guard let index = controls[symbol] else { fatalError("\(name) has no port \(symbol)") }
    return index
  }

  func activate() {
    lilv_instance_deactivate(instance)
    lilv_instance_activate(instance)
  }

  /// The value of every control output.
  var readings: [String: Float] {
    Dictionary(
      uniqueKeysWithValues: controls.keys.filter { ranges[$0] == nil }.map { ($0, self[$0]) })
  }

  /// Runs all of `sound`, one array per input, in blocks with the lengths that `block` returns. A
  /// change also ends a block. Returns one array per output. `during` wraps the run of a block.
  func run(
    _ sound: [[Float]], changes: [Change] = [], block: () -> Int = { 1024 },
    during: (() -> Void) -> Void = { $0() }
  ) -> [[Float]] {
    precondition(sound.count == inputs.count)
    let frames = sound[0].count
    let memory = UnsafeMutablePointer<Float>.allocate(
      capacity: max(1, frames * (inputs.count + outputs.count)))
    defer { memory.deallocate() }
    for (i, samples) in sound.enumerated() {
      (memory + i * frames).initialize(from: samples, count: frames)
    }
    // Unwritten samples become visible.
    (memory + inputs.count * frames).initialize(repeating: 1e9, count: outputs.count * frames)
    var changes = changes.sorted { $0.frame < $1.frame }[...]
    var done = 0
    while done < frames {
      while let change = changes.first, change.frame <= done {
        self[change.symbol] = change.value
        changes.removeFirst()
      }
      let count = min(block(), frames - done, (changes.first?.frame ?? .max) - done)
      for (i, port) in (inputs + outputs).enumerated() {
        lilv_instance_connect_port(instance, UInt32(port), memory + i * frames + done)
      }
      during { lilv_instance_run(instance, UInt32(count)) }
      done += count
    }
    return outputs.indices.map {
      Array(UnsafeBufferPointer(start: memory + (inputs.count + $0) * frames, count: frames))
    }
  }

  /// Runs one block with shared buffers: output `i` uses the buffer of input `shared[i]`.
  func runInPlace(_ sound: [[Float]], shared: [Int]) -> [[Float]] {
    let frames = sound[0].count
    let memory = UnsafeMutablePointer<Float>.allocate(capacity: frames * inputs.count)
    defer { memory.deallocate() }
    for (i, samples) in sound.enumerated() {
      (memory + i * frames).initialize(from: samples, count: frames)
      lilv_instance_connect_port(instance, UInt32(inputs[i]), memory + i * frames)
    }
    for (i, port) in outputs.enumerated() {
      lilv_instance_connect_port(instance, UInt32(port), memory + shared[i] * frames)
    }
    lilv_instance_run(instance, UInt32(frames))
    return outputs.indices.map {
      Array(UnsafeBufferPointer(start: memory + shared[$0] * frames, count: frames))
    }
  }

  /// Returns noise for each input, from -amplitude to amplitude.
  func noise(_ frames: Int, seed: UInt64 = 1, amplitude: Float = 1) -> [[Float]] {
    var generator = SplitMix(state: seed)
    return inputs.map { _ in
      (0..<frames).map { _ in
        Float(Int32(truncatingIfNeeded: generator.next())) / 2_147_483_648 * amplitude
      }
    }
  }

  /// Returns silence for each input.
  func silence(_ frames: Int) -> [[Float]] {
    inputs.map { _ in [Float](repeating: 0, count: frames) }
  }

  /// Returns a sine for each input.
  func sine(_ frequency: Double, _ frames: Int, amplitude: Double = 1) -> [[Float]] {
    inputs.map { _ in
      (0..<frames).map { Float(amplitude * sin(2 * .pi * frequency * Double($0) / rate)) }
    }
  }

  /// Returns random changes of control inputs within their ranges.
  func randomChanges(every frames: Int, until end: Int, seed: UInt64, toggles: Bool = true)
    -> [Change]
  {
    var generator = SplitMix(state: seed)
    let symbols = ranges.keys.filter { toggles || $0 != "enabled" }.sorted()
    return stride(from: frames, to: end, by: frames).map { frame in
      let symbol = symbols.randomElement(using: &generator)!
      let range = ranges[symbol]!
      let isWhole = ["enabled", "mute", "preset"].contains(symbol) || symbol.hasPrefix("type")
      let value = Float.random(in: range, using: &generator)
      return Change(frame: frame, symbol: symbol, value: isWhole ? value.rounded() : value)
    }
  }
}

/// Returns the samples' bit patterns, for exact comparison.
func bits(_ sound: [[Float]]) -> [[UInt32]] { sound.map { $0.map(\.bitPattern) } }

/// Returns the length in frames of a ramp after a control change.
func fadeFrames(_ rate: Double) -> Int { Int(rate * 0.02) }
