import CLilv
import CPluginRunner
import Glibc
package import Graph
import Synchronization
import System

/// An LV2 state of a plugin: the values of its controls and its stored properties. Any thread.
@safe
package final class PluginState: @unchecked Sendable {
  let scan: Scan
  let state: OpaquePointer
  /// URI of the plugin that the state belongs to.
  package let plugin: String
  package let label: String?
  /// The folder of files that the state refers to.
  private let scratch: ScratchFolder?
  /// The preset or folder from which it was read; nil if it is only in memory.
  private let origin: StateOrigin?
  /// The copy written for another process.
  private let copy = Mutex<ScratchFolder?>(nil)

  /// Takes ownership of lilv's state.
  ///
  /// - Parameter plugin: URI of the plugin; nil if the state names it. A preset may apply to several
  ///   plugins.
  init(
    _ state: OpaquePointer, scan: Scan, of plugin: String? = nil, scratch: ScratchFolder? = nil,
    origin: StateOrigin? = nil
  ) {
    self.scratch = scratch
    self.origin = origin
    self.scan = scan
    unsafe self.state = unsafe state
    let (named, label) = unsafe scan.withWorld { world in
      let nodes = unsafe LilvNodes(world: world)
      return unsafe (
        nodes.text(lilv_state_get_plugin_uri(state)) ?? "",
        lilv_state_get_label(state).map { unsafe String(cString: $0) }
      )
    }
    self.plugin = plugin ?? named
    self.label = label
  }

  deinit { unsafe scan.withWorld { _ in unsafe lilv_state_free(state) } }

  /// Reads the state saved in a folder.
  ///
  /// - Throws: `HostError.unreadableState`; `.unsafeState` if the folder has something that is no plain file.
  package convenience init(folder: String, world: World) throws(HostError) {
    try self.init(folder: folder, world: world, scratch: nil)
  }

  convenience init(folder: String, world: World, scratch: ScratchFolder?) throws(HostError) {
    let path = folder + "/" + Self.file
    try StateFolder.check(folder)
    let scan = world.scan
    let state =
      unsafe fileKind(path) == nil
      ? nil
      : scan.withWorld {
        unsafe lilv_state_new_from_file($0, URIDs.shared.map, nil, path.systemName)
      }
    guard let state = unsafe state else { throw .unreadableState(path: path) }
    unsafe self.init(state, scan: scan, scratch: scratch, origin: .folder(folder))
    if plugin.isEmpty { throw .unreadableState(path: path) }
  }

  /// Reads a state from text in Turtle, as `text` gives it.
  ///
  /// - Throws: `HostError.unreadableState`.
  package convenience init(text: String, world: World) throws(HostError) {
    let scan = world.scan
    let state = unsafe scan.withWorld {
      unsafe lilv_state_new_from_string($0, URIDs.shared.map, text)
    }
    guard let state = unsafe state else { throw .unreadableState(path: "text") }
    unsafe self.init(state, scan: scan)
    if plugin.isEmpty { throw .unreadableState(path: "text") }
  }

  /// The state as text in Turtle; nil if lilv cannot write it. Files that it uses are named by their paths.
  package var text: String? {
    text(named: "urn:cuejack:state", base: nil).map { Self.prefixes + $0 }
  }

  /// Returns lilv's text, without prefixes.
  private func text(named uri: String, base: String?) -> String? {
    unsafe scan.withWorld { world in
      guard
        let text = unsafe lilv_state_to_string(
          world, URIDs.shared.map, URIDs.shared.unmap, state, uri, base)
      else { return nil }
      defer { unsafe lilv_free(text) }
      return unsafe String(cString: text)
    }
  }

  /// The values of its controls, by symbol.
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

  /// Returns whether both states have the same values and files. Both must come from the same scan.
  func equals(_ other: PluginState) -> Bool {
    unsafe scan.withWorld { _ in unsafe lilv_state_equals(state, other.state) }
  }

  /// Name of the state's file in its folder.
  static let file = "state.ttl"

  /// Returns an origin from which another process can read the state for the lifetime of this object.
  ///
  /// - Throws: `HostError.unwritableState`.
  func shared() throws(HostError) -> StateOrigin {
    if let origin { return origin }
    return try copy.withLock { copy throws(HostError) in
      if let copy { return .folder(copy.path) }
      let folder = ScratchFolder()
      guard folder.make() else {
        throw .unwritableState(folder: folder.path, reason: "it cannot be created")
      }
      try write(copyTo: folder.path)
      copy = folder
      return .folder(folder.path)
    }
  }

  /// The prefixes that lilv's text uses without declaring them.
  private static let prefixes = [
    "atom": LV2.atom(""), "lv2": LV2.core(""), "pset": LV2.presets(""), "state": LV2.state(""),
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#", "xsd": "http://www.w3.org/2001/XMLSchema#",
  ].sorted { $0.key < $1.key }.map { "@prefix \($0.key): <\($0.value)> .\n" }.joined()

  /// Writes an in-memory state to an existing folder, with links to the files that the plugin created.
  ///
  /// It does not use lilv's own function, which deletes files outside the folder.
  private func write(copyTo folder: String) throws(HostError) {
    // The folder is copied to another one. From there, a path that is relative to this one leads elsewhere: only files
    // that the plugin created are in both.
    try writeText(to: folder, isRelative: scratch != nil)
    guard let made = scratch?.path, let names = names(inFolder: made) else { return }
    for name in names where name != Self.file {
      let (file, link) = (made + "/" + name, folder + "/" + name)
      if unsafe symlink(file.systemName, link.systemName) != 0 { throw StateFolder.failure(folder) }
    }
  }

  /// - Parameter isRelative: Whether files are named by their paths relative to the folder.
  private func writeText(to folder: String, isRelative: Bool = true) throws(HostError) {
    let path = folder + "/" + Self.file
    let uri = fileURL(path)
    guard let text = text(named: uri, base: isRelative ? uri : nil) else {
      throw .unwritableState(folder: folder, reason: "there is not enough memory")
    }
    // Without a base, the state itself is named by its path, too.
    try StateFolder.write(Self.prefixes + text.replacing("<\(uri)>", with: "<>"), to: path)
  }

  /// Writes a state that was captured for this folder, and waits until it is on disk.
  fileprivate func write(to folder: String) throws(HostError) {
    // lilv makes the links to files. It does not say when a file that it writes is cut off: the text is
    // written anew, and copies are compared.
    let status = unsafe scan.withWorld {
      unsafe lilv_state_save(
        $0, URIDs.shared.map, URIDs.shared.unmap, state, nil, folder.systemName, Self.file)
    }
    if status != 0 {
      throw .unwritableState(folder: folder, reason: "lilv cannot create \(Self.file)")
    }
    try writeText(to: folder)
    try StateFolder.settle(folder, copiedFrom: scratch?.path)
  }
}

extension World {
  /// Reads the state of a preset.
  ///
  /// - Throws: `HostError`: no such plugin or preset, or one that cannot be read.
  package func preset(_ uri: String, of plugin: String) throws(HostError) -> PluginState {
    let (scan, description) = try found(plugin)
    guard description.presets.contains(where: { $0.uri == uri }) else {
      throw .unknownPreset(plugin: plugin, preset: uri)
    }
    let state = unsafe scan.withWorld { world in
      unsafe LilvNodes(world: world).ifURI(uri) { node in
        unsafe lilv_world_load_resource(world, node)
        return unsafe lilv_state_new_from_world(world, URIDs.shared.map, node)
      } ?? nil
    }
    guard let state = unsafe state else { throw .unreadableState(path: uri) }
    return unsafe PluginState(state, scan: scan, of: plugin, origin: .preset(uri))
  }
}

extension PluginInstance {
  /// Returns the plugin's current state.
  package func capture() throws(HostError) -> PluginState {
    lock.lock()
    defer { lock.unlock() }
    return try captureLocked(folder: nil)
  }

  /// Saves the plugin's state to a folder of its own, creating it if necessary. The folder receives
  /// copies of the files that the plugin created and links to those that it uses. All of it is on disk then.
  ///
  /// - Throws: `HostError.unwritableState`; `.notSaved` if the plugin itself fails.
  package func save(to folder: String) throws(HostError) {
    lock.lock()
    defer { lock.unlock() }
    guard makeFolders(folder) else { throw StateFolder.failure(folder) }
    try captureLocked(folder: folder).write(to: folder)
  }

  /// Restores a state in this instance. No cycle may run it, unless `canRestoreWhileRunning`.
  ///
  /// - Throws: `HostError.stateOfAnother`.
  package func restore(_ state: PluginState) throws(HostError) {
    try check(state)
    lock.lock()
    defer { lock.unlock() }
    apply(state)
  }

  /// Creates a second instance with a state, ready to run, for the graph to crossfade to. This one
  /// continues. The new one gets its controller bindings.
  ///
  /// - Throws: `HostError`.
  package func replacement(restoring state: PluginState) throws(HostError) -> PluginInstance {
    try check(state)
    let other = try PluginInstance(
      description.uri, in: world, settings: core.settings, name: name, state: state)
    handControllers(to: other)
    return other
  }

  /// Returns the default state from the bundle, if the plugin requests to be loaded with it.
  func defaultState() throws(HostError) -> PluginState? {
    let features = description.requiredFeatures + description.optionalFeatures
    guard features.contains(LV2.state("loadDefaultState")) else { return nil }
    let state = unsafe core.scan.withWorld { world in
      unsafe LilvNodes(world: world).ifURI(description.uri) {
        unsafe lilv_state_new_from_world(world, URIDs.shared.map, $0)
      } ?? nil
    }
    return unsafe state.map { unsafe PluginState($0, scan: core.scan) }
  }

  /// Captures the current state for writing to `folder`, or in memory if that is nil. The caller holds
  /// `lock`.
  func captureLocked(folder: String?) throws(HostError) -> PluginState {
    let values = StateValues(self)
    let path = folder?.systemName
    var status = LV2_STATE_SUCCESS
    let state = unsafe withExtendedLifetime(values) {
      unsafe core.scan.withWorld { world -> OpaquePointer? in
        guard let plugin = unsafe core.scan.plugin(description.uri, in: world),
          let instance = unsafe core.instance
        else { return nil }
        // lilv leaves out what the plugin stores if its function returns an error, and does not say so.
        var watched = unsafe instance.pointee
        unsafe watched.lv2_descriptor = unsafe cue_state_watch(watched.lv2_descriptor)
        defer { status = cue_state_status() }
        return unsafe lilv_state_new_from_instance(
          plugin, &watched, URIDs.shared.map, core.scratch.path.systemName, path, path, path,
          { symbol, values, bytes, type in
            guard let symbol = unsafe symbol, let values = unsafe values else { return nil }
            return unsafe Unmanaged<StateValues>.fromOpaque(values).takeUnretainedValue()
              .value(of: String(cString: symbol), bytes, type)
          }, unsafe Unmanaged.passUnretained(values).toOpaque(), 0,
          unsafe core.features.forRestoring)
      }
    }
    guard let state = unsafe state else {
      throw .notSaved(plugin: description.uri, reason: "lilv gets no state of it")
    }
    let captured = unsafe PluginState(state, scan: core.scan, scratch: core.scratch)
    // In memory, the values of the controls are better than nothing.
    guard folder == nil || status == LV2_STATE_SUCCESS else {
      throw .notSaved(
        plugin: description.uri, reason: "its save function returns the error \(status.rawValue)")
    }
    return captured
  }

  /// Restores a state, ignoring values that fit no control.
  func apply(_ state: PluginState) {
    shared.withLock { $0.state = state }
    let values = StateValues(self)
    withExtendedLifetime(values) {
      // The plugin may make any call but lilv's: the lock protects the state meanwhile.
      unsafe state.scan.withWorld { _ in
        ForeignOutput.hushed {
          unsafe lilv_state_restore(
            state.state, core.instance,
            { symbol, values, value, bytes, type in
              guard let symbol = unsafe symbol, let values = unsafe values,
                let value = unsafe value
              else { return }
              unsafe Unmanaged<StateValues>.fromOpaque(values).takeUnretainedValue()
                .set(String(cString: symbol), value, bytes, type)
            }, unsafe Unmanaged.passUnretained(values).toOpaque(), 0,
            unsafe core.features.forRestoring)
        }
      }
    }
  }
}

/// Gives lilv access to the values of an instance's controls.
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
    // The ring has room for twice as many changes as there are controls.
    _ = instance.change(index, to: number, at: nil, over: 0)
  }
}

/// Receives the control values of a state from lilv.
private final class PortValues {
  var values: [String: Float] = [:]
}

/// Returns the number in the body of an atom, or nil if the atom is not numeric.
private func numberOf(_ body: UnsafeRawPointer, _ bytes: UInt32, _ type: UInt32) -> Float? {
  let atom = UnsafeMutableRawPointer.allocate(byteCount: 8 + Int(bytes), alignment: 8)
  defer { unsafe atom.deallocate() }
  unsafe atom.storeBytes(of: LV2_Atom(size: bytes, type: type), as: LV2_Atom.self)
  unsafe (atom + 8).copyMemory(from: body, byteCount: Int(bytes))
  return unsafe ParameterValue(atom.assumingMemoryBound(to: LV2_Atom.self))?.number
}
