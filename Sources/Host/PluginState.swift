import CLilv
import CRealTime
import Foundation
import Synchronization

/// Everything that a plugin remembers: its controls and what it stores itself. Any thread.
@safe
package final class PluginState: @unchecked Sendable {
  let scan: Scan
  let state: OpaquePointer
  /// URI of the plugin whose state it is.
  package let plugin: String
  package let label: String?
  /// Where files that it names may lie.
  private let scratch: ScratchFolder?
  /// Where it was read from; nil if it is in memory only.
  private let origin: StateOrigin?
  /// What was written for another process.
  private let copy = Mutex<ScratchFolder?>(nil)

  /// Takes over lilv's state.
  ///
  /// - Parameter plugin: Whose it is; nil if the state says it. A preset may be one of several plugins.
  init(
    _ state: OpaquePointer, scan: Scan, of plugin: String? = nil, scratch: ScratchFolder? = nil,
    origin: StateOrigin? = nil
  ) {
    self.scratch = scratch
    self.origin = origin
    self.scan = scan
    unsafe self.state = unsafe state
    let (named, label) = unsafe scan.withWorld { world in
      let nodes = unsafe Nodes(world: world)
      return unsafe (
        nodes.text(lilv_state_get_plugin_uri(state)) ?? "",
        lilv_state_get_label(state).map { unsafe String(cString: $0) }
      )
    }
    self.plugin = plugin ?? named
    self.label = label
  }

  deinit { unsafe scan.withWorld { _ in unsafe lilv_state_free(state) } }

  /// The state that was saved in a folder.
  ///
  /// - Throws: `HostError.unreadableState`.
  package convenience init(folder: String, world: World) throws(HostError) {
    try self.init(folder: folder, world: world, scratch: nil)
  }

  convenience init(folder: String, world: World, scratch: ScratchFolder?) throws(HostError) {
    let path = folder + "/" + Self.file
    let scan = world.scan
    let state =
      unsafe FileManager.default.fileExists(atPath: path)
      ? scan.withWorld { unsafe lilv_state_new_from_file($0, URIDs.shared.map, nil, path) } : nil
    guard let state = unsafe state else { throw .unreadableState(path: path) }
    unsafe self.init(state, scan: scan, scratch: scratch, origin: .folder(folder))
    if plugin.isEmpty { throw .unreadableState(path: path) }
  }

  /// The values of the controls that it has, by their symbols.
  var portValues: [String: Float] {
    let found = PortValues()
    unsafe scan.withWorld { _ in
      unsafe lilv_state_emit_port_values(
        state,
        { symbol, found, value, bytes, type in
          guard let symbol = unsafe symbol, let found = unsafe found, let value = unsafe value
          else { return }
          unsafe Unmanaged<PortValues>.fromOpaque(found).takeUnretainedValue()
            .values[String(cString: symbol)] = unsafe numberOf(value, bytes, type)
        }, unsafe Unmanaged.passUnretained(found).toOpaque())
    }
    return found.values
  }

  /// True if the other has the same values and the same files. Both are of one look at the disk.
  func equals(_ other: PluginState) -> Bool {
    unsafe scan.withWorld { _ in unsafe lilv_state_equals(state, other.state) }
  }

  /// What the state's file is called in its folder.
  static let file = "state.ttl"

  /// Where another process can read the state, as long as this one is there.
  ///
  /// - Throws: `HostError.unwritableState`.
  func shared() throws(HostError) -> StateOrigin {
    if let origin { return origin }
    return try copy.withLock { copy throws(HostError) in
      if let copy { return .folder(copy.path) }
      let folder = ScratchFolder()
      guard folder.make() else { throw .unwritableState(folder: folder.path) }
      try write(copyTo: folder.path)
      copy = folder
      return .folder(folder.path)
    }
  }

  /// What lilv's text leaves to be said.
  private static let prefixes = [
    "atom": LV2.atom(""), "lv2": LV2.core(""), "pset": LV2.presets(""), "state": LV2.state(""),
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#", "xsd": "http://www.w3.org/2001/XMLSchema#",
  ].sorted { $0.key < $1.key }.map { "@prefix \($0.key): <\($0.value)> .\n" }.joined()

  /// Writes the state, which is in memory only, to a folder that is there, with links to the files that
  /// the plugin made.
  ///
  /// Not by lilv's own function, which removes files that lie outside the folder.
  private func write(copyTo folder: String) throws(HostError) {
    let path = folder + "/" + Self.file
    let uri = URL(fileURLWithPath: path).absoluteString
    let text = unsafe scan.withWorld { world -> String? in
      guard
        let text = unsafe lilv_state_to_string(
          world, URIDs.shared.map, URIDs.shared.unmap, state, uri, uri)
      else { return nil }
      defer { unsafe lilv_free(text) }
      return unsafe String(cString: text)
    }
    let files = FileManager.default
    do {
      try (Self.prefixes + (text ?? "")).write(toFile: path, atomically: false, encoding: .utf8)
      guard let made = scratch?.path, let names = try? files.contentsOfDirectory(atPath: made)
      else { return }
      for name in names where name != Self.file {
        try files.createSymbolicLink(
          atPath: folder + "/" + name, withDestinationPath: made + "/" + name)
      }
    } catch {
      throw .unwritableState(folder: folder)
    }
  }

  /// Writes the state, which was captured for this folder, into it.
  fileprivate func write(to folder: String) throws(HostError) {
    let status = unsafe scan.withWorld {
      unsafe lilv_state_save(
        $0, URIDs.shared.map, URIDs.shared.unmap, state, nil, folder, Self.file)
    }
    if status != 0 { throw .unwritableState(folder: folder) }
  }
}

extension World {
  /// The state of a preset of a plugin.
  ///
  /// - Throws: `HostError`: no such plugin or preset, or one that cannot be read.
  package func preset(_ uri: String, of plugin: String) throws(HostError) -> PluginState {
    let (scan, description) = try found(plugin)
    guard description.presets.contains(where: { $0.uri == uri }) else {
      throw .unknownPreset(plugin: plugin, preset: uri)
    }
    let state = unsafe scan.withWorld { world in
      unsafe Nodes(world: world).ifURI(uri) { node in
        unsafe lilv_world_load_resource(world, node)
        return unsafe lilv_state_new_from_world(world, URIDs.shared.map, node)
      } ?? nil
    }
    guard let state = unsafe state else { throw .unreadableState(path: uri) }
    return unsafe PluginState(state, scan: scan, of: plugin, origin: .preset(uri))
  }
}

/// Where a state can be read, by other processes too.
enum StateOrigin: Codable {
  /// The folder that it was saved to.
  case folder(String)
  /// URI of the preset that it is.
  case preset(String)
}

extension PluginInstance {
  /// The plugin's state as it is now.
  package func capture() throws(HostError) -> PluginState {
    lock.lock()
    defer { lock.unlock() }
    return try captureLocked(folder: nil)
  }

  /// Saves the plugin's state to a folder of its own, which is made if it is not there, with copies of
  /// the files that the plugin made and links to those that it uses.
  ///
  /// - Throws: `HostError.unwritableState`.
  package func save(to folder: String) throws(HostError) {
    lock.lock()
    defer { lock.unlock() }
    do {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    } catch {
      throw .unwritableState(folder: folder)
    }
    try captureLocked(folder: folder).write(to: folder)
  }

  /// Restores a state in this very instance: while no cycle runs it, or if `canRestoreWhileRunning`.
  ///
  /// - Throws: `HostError.stateOfAnother`.
  package func restore(_ state: PluginState) throws(HostError) {
    try check(state)
    lock.lock()
    defer { lock.unlock() }
    apply(state)
  }

  /// A second instance, ready to run, with a state: for the graph to crossfade to. This one goes on; the
  /// controllers that move it move the other, too.
  ///
  /// - Throws: `HostError`.
  package func replacement(restoring state: PluginState) throws(HostError) -> PluginInstance {
    try check(state)
    let other = try PluginInstance(
      description.uri, in: world, settings: core.settings, name: name, state: state)
    handControllers(to: other)
    return other
  }

  /// The state that the bundle has for a new instance, if the plugin asks for it.
  func defaultState() throws(HostError) -> PluginState? {
    let features = description.requiredFeatures + description.optionalFeatures
    guard features.contains(LV2.state("loadDefaultState")) else { return nil }
    let state = unsafe core.scan.withWorld { world in
      unsafe Nodes(world: world).ifURI(description.uri) {
        unsafe lilv_state_new_from_world(world, URIDs.shared.map, $0)
      } ?? nil
    }
    return unsafe state.map { unsafe PluginState($0, scan: core.scan) }
  }

  /// The state as it is now, for being written to `folder`; nil if it stays in memory.
  func captureLocked(folder: String?) throws(HostError) -> PluginState {
    let values = StateValues(self)
    let state = unsafe withExtendedLifetime(values) {
      unsafe core.scan.withWorld { world -> OpaquePointer? in
        guard let plugin = unsafe core.scan.plugin(description.uri, in: world) else { return nil }
        return unsafe lilv_state_new_from_instance(
          plugin, core.instance, URIDs.shared.map, core.scratch.path, folder, folder, folder,
          { symbol, values, bytes, type in
            guard let symbol = unsafe symbol, let values = unsafe values else { return nil }
            return unsafe Unmanaged<StateValues>.fromOpaque(values).takeUnretainedValue()
              .value(of: String(cString: symbol), bytes, type)
          }, unsafe Unmanaged.passUnretained(values).toOpaque(), 0,
          unsafe core.features.forRestoring)
      }
    }
    guard let state = unsafe state else { throw .unwritableState(folder: folder ?? "memory") }
    return unsafe PluginState(state, scan: core.scan, scratch: core.scratch)
  }

  /// Has the instance take over a state. What no control can take is left out.
  func apply(_ state: PluginState) {
    shared.withLock { $0.state = state }
    let values = StateValues(self)
    withExtendedLifetime(values) {
      // The plugin may answer with any call but one of lilv's: the lock keeps the state as it is.
      unsafe state.scan.withWorld { _ in
        unsafe lilv_state_restore(
          state.state, core.instance,
          { symbol, values, value, bytes, type in
            guard let symbol = unsafe symbol, let values = unsafe values, let value = unsafe value
            else { return }
            unsafe Unmanaged<StateValues>.fromOpaque(values).takeUnretainedValue()
              .set(String(cString: symbol), value, bytes, type)
          }, unsafe Unmanaged.passUnretained(values).toOpaque(), 0,
          unsafe core.features.forRestoring)
      }
    }
  }
}

/// The values of an instance's controls, as lilv asks for them and sets them.
@safe
private final class StateValues {
  private let instance: PluginInstance
  private let value = UnsafeMutablePointer<Float>.allocate(capacity: 1)

  init(_ instance: PluginInstance) { self.instance = instance }

  deinit { unsafe value.deallocate() }

  func value(
    of symbol: String, _ bytes: UnsafeMutablePointer<UInt32>?,
    _ type: UnsafeMutablePointer<UInt32>?
  ) -> UnsafeRawPointer? {
    guard let current = try? instance.value(of: symbol) else { return nil }
    unsafe value.pointee = current
    unsafe bytes?.pointee = 4
    unsafe type?.pointee = URIDs.shared[LV2.atom("Float")]
    return unsafe UnsafeRawPointer(value)
  }

  func set(_ symbol: String, _ body: UnsafeRawPointer, _ bytes: UInt32, _ type: UInt32) {
    guard
      let index = instance.core.memory.controls.firstIndex(where: { $0.symbol == symbol }),
      let number = unsafe numberOf(body, bytes, type), number.isFinite
    else { return }
    // Twice as many changes as there are controls find room.
    _ = instance.change(index, to: number, at: nil, over: 0)
  }
}

/// The values of controls that a state has, as lilv tells them.
private final class PortValues {
  var values: [String: Float] = [:]
}

/// The number that the body of an atom is; nil if it is none.
private func numberOf(_ body: UnsafeRawPointer, _ bytes: UInt32, _ type: UInt32) -> Float? {
  let atom = UnsafeMutableRawPointer.allocate(byteCount: 8 + Int(bytes), alignment: 8)
  defer { unsafe atom.deallocate() }
  unsafe atom.storeBytes(of: LV2_Atom(size: bytes, type: type), as: LV2_Atom.self)
  unsafe (atom + 8).copyMemory(from: body, byteCount: Int(bytes))
  return unsafe ParameterValue(atom.assumingMemoryBound(to: LV2_Atom.self))?.number
}
