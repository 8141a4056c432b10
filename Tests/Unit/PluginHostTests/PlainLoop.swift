import CLilv
import Foundation
import TestSupport

/// A plugin run by a plain loop with lilv, like a small C program, without any of Cuejack's host code.
/// Its controls have their default values, and it receives no features.
struct PlainLoop {
  private let uri: String
  private let bundle: String

  /// - Parameter bundle: The folder of the plugin's bundle, with a slash at its end.
  init(_ uri: String, bundle: String) {
    self.uri = uri
    self.bundle = bundle
  }

  /// Runs a new instance over all of `input`, one array per audio input, in blocks of the given
  /// lengths, repeated. Returns one array per audio output.
  func run(_ input: [[Float]], blocks: [Int]) throws -> [[Float]] {
    let world = lilv_world_new()!
    defer { lilv_world_free(world) }
    let location = lilv_new_file_uri(world, nil, bundle)!
    let name = lilv_new_uri(world, uri)!
    let classes = ["InputPort", "AudioPort", "ControlPort"].map {
      lilv_new_uri(world, "http://lv2plug.in/ns/lv2core#\($0)")!
    }
    defer { for node in classes + [location, name] { lilv_node_free(node) } }
    lilv_world_load_bundle(world, location)
    guard let plugin = lilv_plugins_get_by_uri(lilv_world_get_all_plugins(world), name),
      let instance = lilv_plugin_instantiate(plugin, 48000, nil)
    else { throw SupportError("\(uri) cannot be instantiated") }
    defer { lilv_instance_free(instance) }

    let count = Int(lilv_plugin_get_num_ports(plugin))
    let values = UnsafeMutablePointer<Float>.allocate(capacity: count)
    defer { values.deallocate() }
    lilv_plugin_get_port_ranges_float(plugin, nil, nil, values)
    var inputs: [Int] = []
    var outputs: [Int] = []
    for index in 0..<count {
      let port = lilv_plugin_get_port_by_index(plugin, UInt32(index))
      if lilv_port_is_a(plugin, port, classes[1]) {
        if lilv_port_is_a(plugin, port, classes[0]) {
          inputs.append(index)
        } else {
          outputs.append(index)
        }
      } else if lilv_port_is_a(plugin, port, classes[2]) {
        if values[index].isNaN { values[index] = 0 }
        lilv_instance_connect_port(instance, UInt32(index), values + index)
      } else {
        lilv_instance_connect_port(instance, UInt32(index), nil)
      }
    }
    precondition(inputs.count == input.count, "\(uri) has \(inputs.count) inputs")

    let longest = blocks.max()!
    let planes = UnsafeMutablePointer<Float>.allocate(
      capacity: longest * (inputs.count + outputs.count))
    defer { planes.deallocate() }
    planes.initialize(repeating: 0, count: longest * (inputs.count + outputs.count))
    for (i, port) in (inputs + outputs).enumerated() {
      lilv_instance_connect_port(instance, UInt32(port), planes + i * longest)
    }
    lilv_instance_activate(instance)
    defer { lilv_instance_deactivate(instance) }
    var sound = [[Float]](repeating: [], count: outputs.count)
    var done = 0
    var turn = 0
    while done < input[0].count {
      let frames = min(blocks[turn % blocks.count], input[0].count - done)
      turn += 1
      for (i, samples) in input.enumerated() {
        samples.withUnsafeBufferPointer {
          (planes + i * longest).update(from: $0.baseAddress! + done, count: frames)
        }
      }
      lilv_instance_run(instance, UInt32(frames))
      for i in outputs.indices {
        sound[i] += UnsafeBufferPointer(
          start: planes + (inputs.count + i) * longest, count: frames)
      }
      done += frames
    }
    return sound
  }
}
