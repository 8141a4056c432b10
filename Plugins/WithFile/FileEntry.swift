import CFile
public import CPlugin

/// A plugin with a file. Each bundle declares its type under the name `Bundle`. The host never makes two calls at once,
/// except for those of the worker and of `save`, which use the file's mailbox only.
protocol FilePlugin: ~Copyable {
  static var uri: StaticString { get }
  /// The sample rates at which the plugin runs.
  static var rates: ClosedRange<Double> { get }
  var file: PluginFile { get }

  /// Returns nil if there is no memory.
  init?(
    rate: Double, map: UnsafeMutablePointer<LV2_URID_Map>,
    schedule: UnsafePointer<LV2_Worker_Schedule>?, log: UnsafeMutablePointer<LV2_Log_Log>?)
  func release()
  mutating func connect(_ port: Int, to memory: UnsafeMutableRawPointer?)
  mutating func activate()
  mutating func run(_ frames: Int)
  /// Takes the file with a path, or the default one if the path is empty. The plugin does not run.
  mutating func restore(_ path: UnsafePointer<CChar>)
}

/// Runs the plugin. Because this is the only entry, the compiler proves that no code behind it locks or
/// allocates.
@_noLocks
private func run(_ instance: UnsafeMutablePointer<Bundle>, _ frames: UInt32) {
  unsafe instance.pointee.run(Int(frames))
}

/// Returns the host's feature with a URI.
private func feature<Data>(
  _ features: UnsafePointer<UnsafePointer<LV2_Feature>?>?, _ uri: StaticString,
  as type: Data.Type = Data.self
) -> UnsafeMutablePointer<Data>? {
  var next = unsafe features
  while let feature = unsafe next?.pointee {
    if unsafe strcmp(feature.pointee.URI, uri.cString) == 0 {
      return unsafe feature.pointee.data?.assumingMemoryBound(to: type)
    }
    unsafe next = unsafe next.unsafelyUnwrapped + 1
  }
  return nil
}

private func make(
  _ rate: Double, _ features: UnsafePointer<UnsafePointer<LV2_Feature>?>?
) -> UnsafeMutableRawPointer? {
  guard Bundle.rates.contains(rate),
    let map = unsafe feature(
      features, "http://lv2plug.in/ns/ext/urid#map", as: LV2_URID_Map.self),
    let plugin = unsafe Bundle(
      rate: rate, map: map,
      schedule: feature(features, "http://lv2plug.in/ns/ext/worker#schedule").map {
        unsafe UnsafePointer($0)
      }, log: feature(features, "http://lv2plug.in/ns/ext/log#log"))
  else { return nil }
  let stride = MemoryLayout<Bundle>.stride
  guard let memory = unsafe aligned_alloc(64, (stride + 63) / 64 * 64) else {
    plugin.release()
    return nil
  }
  unsafe memory.initializeMemory(as: Bundle.self, to: plugin)
  return unsafe memory
}

private func instance(_ handle: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<Bundle> {
  unsafe handle.unsafelyUnwrapped.assumingMemoryBound(to: Bundle.self)
}

// MARK: Worker

nonisolated(unsafe) private var worker = unsafe LV2_Worker_Interface(
  work: { handle, respond, answer, size, data in
    unsafe work(
      instance(handle).pointee.file.mailbox, respond, answer, data.unsafelyUnwrapped)
  },
  work_response: { handle, _, body in
    let mailbox = unsafe instance(handle).pointee.file.mailbox
    let loaded = unsafe body.unsafelyUnwrapped.loadUnaligned(as: cue_loaded.self)
    unsafe mailbox.pointee.is_loading = false
    unsafe mailbox.pointee.incoming = unsafe loaded.content
    unsafe mailbox.pointee.status = unsafe loaded.status
    return LV2_WORKER_SUCCESS
  },
  end_run: nil)

private func work(
  _ mailbox: UnsafeMutablePointer<cue_mailbox>, _ respond: LV2_Worker_Respond_Function?,
  _ answer: LV2_Worker_Respond_Handle?, _ data: UnsafeRawPointer
) -> LV2_Worker_Status {
  let request = unsafe data.loadUnaligned(as: cue_request.self)
  if let retired = unsafe request.retired {
    unsafe cue_unload(retired)
    return LV2_WORKER_SUCCESS
  }
  let path = unsafe (data + MemoryLayout<cue_request>.size).assumingMemoryBound(to: CChar.self)
  var loaded = unsafe cue_load(mailbox, path, request.settings)
  let bytes = unsafe UInt32(MemoryLayout<cue_loaded>.size)
  let status = unsafe respond.unsafelyUnwrapped(answer, bytes, &loaded)
  if status != LV2_WORKER_SUCCESS {
    unsafe cue_unload(loaded.content)
  } else if unsafe loaded.content != nil {
    unsafe cue_mailbox_want(mailbox, path)
  }
  return status
}

// MARK: State

nonisolated(unsafe) private var state = unsafe LV2_State_Interface(
  save: { handle, store, target, _, features in
    unsafe save(instance(handle).pointee.file.mailbox, store.unsafelyUnwrapped, target, features)
  },
  restore: { handle, retrieve, source, _, features in
    unsafe restore(instance(handle), retrieve.unsafelyUnwrapped, source, features)
  })

private func save(
  _ mailbox: UnsafeMutablePointer<cue_mailbox>, _ store: LV2_State_Store_Function,
  _ target: LV2_State_Handle?, _ features: UnsafePointer<UnsafePointer<LV2_Feature>?>?
) -> LV2_State_Status {
  var path = InlineArray<4096, CChar>(repeating: 0)
  return unsafe withUnsafeMutableBytes(of: &path) { bytes in
    let wanted = unsafe bytes.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: CChar.self)
    unsafe cue_mailbox_wanted(mailbox, wanted)
    // The default may be another one elsewhere.
    if unsafe wanted.pointee == 0 { return LV2_STATE_SUCCESS }
    let paths = unsafe feature(
      features, "http://lv2plug.in/ns/ext/state#mapPath", as: LV2_State_Map_Path.self)
    let mapped = unsafe paths.flatMap { unsafe $0.pointee.abstract_path($0.pointee.handle, wanted) }
    let text = unsafe mapped.map { unsafe UnsafePointer($0) } ?? UnsafePointer(wanted)
    let urids = unsafe mailbox.pointee.urids
    let flags = UInt32(LV2_STATE_IS_POD.rawValue)
    let status = unsafe store(
      target, urids.file, text, strlen(text) + 1, urids.path, flags)
    unsafe free(mapped)
    return status
  }
}

private func restore(
  _ instance: UnsafeMutablePointer<Bundle>, _ retrieve: LV2_State_Retrieve_Function,
  _ source: LV2_State_Handle?, _ features: UnsafePointer<UnsafePointer<LV2_Feature>?>?
) -> LV2_State_Status {
  let urids = unsafe instance.pointee.file.urids
  var (size, type, flags) = (0, UInt32(0), UInt32(0))
  guard
    let value = unsafe retrieve(source, urids.file, &size, &type, &flags), size > 0,
    type == urids.path
  else {
    unsafe instance.pointee.restore(StaticString("").cString)
    return LV2_STATE_SUCCESS
  }
  let text = unsafe value.assumingMemoryBound(to: CChar.self)
  let paths = unsafe feature(
    features, "http://lv2plug.in/ns/ext/state#mapPath", as: LV2_State_Map_Path.self)
  let mapped = unsafe paths.flatMap { unsafe $0.pointee.absolute_path($0.pointee.handle, text) }
  unsafe instance.pointee.restore(mapped.map { unsafe UnsafePointer($0) } ?? text)
  unsafe free(mapped)
  return LV2_STATE_SUCCESS
}

// MARK: Descriptor

nonisolated(unsafe) private var descriptor = unsafe LV2_Descriptor(
  URI: Bundle.uri.cString,
  instantiate: { _, rate, _, features in unsafe make(rate, features) },
  connect_port: { unsafe instance($0).pointee.connect(Int($1), to: $2) },
  activate: { unsafe instance($0).pointee.activate() },
  run: { unsafe run(instance($0), $1) },
  deactivate: nil,
  cleanup: {
    unsafe instance($0).pointee.release()
    unsafe free($0)
  },
  extension_data: { uri in
    guard let uri = unsafe uri else { return nil }
    if unsafe strcmp(uri, StaticString("http://lv2plug.in/ns/ext/state#interface").cString) == 0 {
      return unsafe withUnsafePointer(to: &state) { unsafe UnsafeRawPointer($0) }
    }
    if unsafe strcmp(uri, StaticString("http://lv2plug.in/ns/ext/worker#interface").cString) == 0 {
      return unsafe withUnsafePointer(to: &worker) { unsafe UnsafeRawPointer($0) }
    }
    return nil
  })

/// Returns the library's plugins by index. The host calls it on any thread.
@c @implementation
public func lv2_descriptor(_ index: UInt32) -> UnsafePointer<LV2_Descriptor>? {
  index == 0 ? unsafe withUnsafePointer(to: &descriptor) { unsafe $0 } : nil
}
