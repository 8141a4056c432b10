import CLilv
import CPluginRunner
import CRealTime
import Dispatch
import Glibc
import Graph
import Logging
import Server
import Synchronization
import System

/// A running plugin: its LV2 instance, connected memory, worker and log, and the worker thread that
/// serves them.
///
/// Both `PluginInstance` and the worker thread retain it: the instance can be freed while the thread
/// sleeps.
@safe
final class PluginCore: @unchecked Sendable {
  let description: PluginDescription
  let scan: Scan
  let memory: PluginMemory
  private(set) var settings: PluginSettings
  private(set) var features: PluginFeatures!
  /// The folder for files that the plugin creates.
  let scratch = ScratchFolder()
  private(set) var instance: UnsafeMutablePointer<LilvInstance>?
  private var isActive = false
  private var worker: UnsafePointer<LV2_Worker_Interface>?
  /// Held while the plugin does work: one request at a time.
  private let workLock = Lock()
  private let body: UnsafeMutableRawPointer
  private let signal: UnsafeMutablePointer<cue_signal>
  private let isOver = Atomic<Bool>(false)
  private let thread = Atomic<UInt>(0)
  private let hasEnded = DispatchSemaphore(value: 0)
  /// The function that receives the parameter values that the plugin reports.
  let listener = Hook<@Sendable (ParameterMessage) -> Void>()

  /// The function called when a cycle may have learned a controller.
  let learner = Hook<@Sendable () -> Void>()

  init(description: PluginDescription, scan: Scan, settings: PluginSettings) {
    self.description = description
    self.scan = scan
    self.settings = settings
    memory = PluginMemory(
      description, sampleRate: settings.sampleRate, leftOut: settings.leftOut)
    unsafe body = .allocate(byteCount: PluginMemory.ringBytes, alignment: 16)
    unsafe signal = .allocate(capacity: 1)
    unsafe signal.initialize(to: cue_signal())
    unsafe cue_signal_initialize(signal)
    let context = unsafe Unmanaged.passUnretained(self).toOpaque()
    let plugin = unsafe memory.plugin
    unsafe plugin.pointee.context = unsafe context
    unsafe plugin.pointee.signal = unsafe signal
    unsafe plugin.pointee.work_now = { context in
      unsafe Unmanaged<PluginCore>.fromOpaque(context!).takeUnretainedValue().work()
    }
    unsafe plugin.pointee.log_now = { context, type, text in
      unsafe Unmanaged<PluginCore>.fromOpaque(context!).takeUnretainedValue()
        .say(type, String(cString: text!))
    }
    unsafe plugin.pointee.is_offline = settings.isOffline
    unsafe plugin.pointee.has_fixed_blocks = settings.hasFixedBlocks
    features = PluginFeatures(
      settings, required: description.requiredFeatures, memory: memory, scratch: scratch)
  }

  deinit {
    finishWork()
    if let instance = unsafe instance { unsafe free(instance) }
    // The plugin is freed, so nothing points to its features.
    features = nil
    unsafe cue_signal_destroy(signal)
    unsafe signal.deallocate()
    unsafe body.deallocate()
  }

  // MARK: The plugin's code

  /// Instantiates the plugin and connects its control ports. Precondition: no cycle runs it.
  ///
  /// - Throws: `HostError`: `.libraryNotLoaded`, `.notInstantiated`.
  func load() throws(HostError) {
    // lilv keeps a handle of its own for as long as instances exist.
    let made = unsafe try scan.withWorld { world throws(HostError) in
      let library = try description.binary.map { path throws(HostError) in
        try PluginLibrary(path, of: description.uri)
      }
      defer { withExtendedLifetime(library) {} }
      return unsafe scan.plugin(description.uri, in: world).flatMap {
        unsafe lilv_plugin_instantiate($0, settings.sampleRate, features.all)
      }
    }
    guard let made = unsafe made, let descriptor = unsafe made.pointee.lv2_descriptor?.pointee
    else {
      throw .notInstantiated(uri: description.uri, sampleRate: settings.sampleRate)
    }
    workLock.lock()
    defer { workLock.unlock() }
    unsafe instance = unsafe made
    unsafe worker = unsafe extensionData(LV2.worker("interface"), as: LV2_Worker_Interface.self)
    let plugin = unsafe memory.plugin
    unsafe plugin.pointee.handle = unsafe made.pointee.lv2_handle
    unsafe plugin.pointee.connect_port = unsafe descriptor.connect_port
    unsafe plugin.pointee.run = unsafe descriptor.run
    unsafe plugin.pointee.work_response = unsafe worker?.pointee.work_response.map {
      unsafe unsafeBitCast(
        $0, to: (@convention(c) (UnsafeMutableRawPointer?, UInt32, UnsafeRawPointer?) -> Void).self)
    }
    unsafe plugin.pointee.end_run = unsafe worker?.pointee.end_run.map {
      unsafe unsafeBitCast($0, to: (@convention(c) (UnsafeMutableRawPointer?) -> Void).self)
    }
    memory.connect()
    unsafe plugin.pointee.told_transport = 0
    for port in description.ports
    where port.kind == .other || settings.leftOut.contains(port.symbol) {
      unsafe descriptor.connect_port(made.pointee.lv2_handle, UInt32(port.index), nil)
    }
  }

  /// Activates the plugin and starts the worker thread if needed. Precondition: no cycle runs it.
  func activate() {
    guard let instance = unsafe instance, !isActive else { return }
    ForeignOutput.hushed { unsafe lilv_instance_activate(instance) }
    isActive = true
    startThreadIfNeeded()
  }

  /// Runs the plugin so that it reports its latency, if it has a latency port. Precondition: no cycle
  /// runs it.
  func preroll() {
    if unsafe memory.plugin.pointee.latency_readout >= 0 {
      runNoFrames()
    } else {
      unsafe cue_plugin_settle(memory.plugin)
    }
  }

  /// Runs the plugin so that it writes its control outputs. Precondition: no cycle runs it.
  func runNoFrames() {
    let plane = UnsafeMutablePointer<Float>.allocate(capacity: settings.maximumFrames)
    unsafe plane.initialize(repeating: 0, count: settings.maximumFrames)
    defer { unsafe plane.deallocate() }
    let inputs = unsafe Array(repeating: UnsafePointer(plane), count: memory.inputs.count)
    let outputs = unsafe Array(repeating: plane, count: memory.outputs.count)
    unsafe inputs.withUnsafeBufferPointer { inputs in
      unsafe outputs.withUnsafeBufferPointer { outputs in
        var block = unsafe cue_block()
        unsafe block.inputs = inputs.baseAddress
        unsafe block.outputs = outputs.baseAddress
        unsafe cue_plugin_preroll(memory.plugin, &block)
      }
    }
  }

  /// Performs the work that the plugin has requested, such as freeing memory. Precondition: no cycle
  /// runs it.
  private func finishWork() {
    guard unsafe worker != nil else { return }
    work()
    unsafe cue_plugin_settle(memory.plugin)
    work()
    unsafe cue_ring_clear(memory.plugin.pointee.responses)
  }

  private func free(_ instance: UnsafeMutablePointer<LilvInstance>) {
    if isActive { unsafe lilv_instance_deactivate(instance) }
    isActive = false
    unsafe scan.withWorld { _ in unsafe lilv_instance_free(instance) }
  }

  /// Instantiates the plugin again with other settings; its state is lost. If that fails, it restores
  /// the old settings and throws. Precondition: no cycle runs it.
  func reload(_ settings: PluginSettings) throws(HostError) {
    finishWork()
    // Free the old instance first: some libraries support only one sample rate at a time.
    if let instance = unsafe instance { unsafe free(instance) }
    unsafe instance = nil
    unsafe memory.plugin.pointee.run = nil
    let (oldFeatures, oldSettings) = (features, self.settings)
    self.settings = settings
    features = PluginFeatures(
      settings, required: description.requiredFeatures, memory: memory, scratch: scratch)
    do throws(HostError) {
      try load()
    } catch {
      features = oldFeatures
      self.settings = oldSettings
      // If that also fails, or the blocks would exceed its maximum length, the node is silent.
      if settings.maximumFrames <= oldSettings.maximumFrames { try? load() }
      throw error
    }
  }

  /// Sets another block length through the plugin's options interface, if it has one. Precondition: no
  /// cycle runs it.
  ///
  /// - Returns: `false` if the plugin must be instantiated again.
  func tell(_ settings: PluginSettings) -> Bool {
    let needs = description.requiredFeatures + description.optionalFeatures
    let cares = needs.contains {
      $0 == LV2.options("options") || $0.hasPrefix(LV2.bufferSize(""))
    }
    // No option says whether a length is a power of two.
    if settings.hasFixedBlocks { return false }
    let interface = unsafe extensionData(LV2.options("interface"), as: LV2_Options_Interface.self)
    guard let interface = unsafe interface, let set = unsafe interface.pointee.set,
      let instance = unsafe instance
    else {
      if !cares {
        self.settings = settings
        features.update(settings)
      }
      return !cares
    }
    self.settings = settings
    features.update(settings)
    // The first three options: minimum, maximum and nominal block length.
    var told = unsafe (0..<3).map { unsafe features.options[$0] } + [LV2_Options_Option()]
    return unsafe set(instance.pointee.lv2_handle, &told) == LV2_OPTIONS_SUCCESS.rawValue
  }

  private func extensionData<Interface>(_ uri: String, as type: Interface.Type)
    -> UnsafePointer<Interface>?
  {
    guard let instance = unsafe instance, description.extensionData.contains(uri) else {
      return nil
    }
    return unsafe lilv_instance_get_extension_data(instance, uri)?.assumingMemoryBound(to: type)
  }

  // MARK: Worker

  /// Performs all requested work on the calling thread.
  func work() {
    workLock.lock()
    defer { workLock.unlock() }
    let requests = unsafe memory.plugin.pointee.requests!
    var bytes: UInt32 = 0
    while unsafe cue_ring_readable(requests) >= 4 {
      unsafe cue_ring_take(requests, &bytes, 4)
      unsafe cue_ring_take(requests, body, bytes)
      guard let worker = unsafe worker, let instance = unsafe instance,
        let work = unsafe worker.pointee.work
      else { continue }
      _ = unsafe work(
        instance.pointee.lv2_handle,
        { plugin, bytes, body in
          unsafe LV2_Worker_Status(rawValue: cue_plugin_respond(plugin, bytes, body))
        }, unsafe memory.plugin, bytes, unsafe body)
    }
  }

  /// Performs work at once that the plugin requests while it restores a state, on the restoring thread.
  func workRestored(_ bytes: UInt32, _ body: UnsafeRawPointer?) -> LV2_Worker_Status {
    workLock.lock()
    defer { workLock.unlock() }
    guard let worker = unsafe worker, let instance = unsafe instance,
      let work = unsafe worker.pointee.work
    else {
      return LV2_WORKER_ERR_UNKNOWN
    }
    return unsafe work(
      instance.pointee.lv2_handle,
      { plugin, bytes, body in
        unsafe LV2_Worker_Status(rawValue: cue_plugin_respond_restored(plugin, bytes, body))
      }, unsafe memory.plugin, bytes, unsafe body)
  }

  // MARK: Log

  private func say(_ type: UInt32, _ text: String) {
    let words = text.drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed()
    let text = "\(description.name): \(String(words))"
    switch URIDs.shared.uri(type) {
    case LV2.log("Error"): log.error("\(text)")
    case LV2.log("Warning"): log.warning("\(text)")
    case LV2.log("Trace"): log.trace("\(text)")
    default: log.info("\(text)")
    }
  }

  private func drainLog() {
    let ring = unsafe memory.plugin.pointee.log!
    var head = cue_log_head()
    while unsafe cue_ring_readable(ring) >= 8 {
      unsafe cue_ring_take(ring, &head, 8)
      var text = [CChar](repeating: 0, count: Int(head.bytes))
      unsafe cue_ring_take(ring, &text, head.bytes)
      say(head.type, String(decoding: text.map { UInt8(bitPattern: $0) }, as: UTF8.self))
    }
  }

  // MARK: Messages from the plugin

  private func drainReplies() {
    let ring = unsafe memory.plugin.pointee.replies!
    var head = cue_message_head()
    let headBytes = MemoryLayout<cue_message_head>.size
    while unsafe cue_ring_readable(ring) >= headBytes {
      unsafe cue_ring_take(ring, &head, UInt32(headBytes))
      let atom = UnsafeMutableRawBufferPointer.allocate(byteCount: Int(head.bytes), alignment: 8)
      defer { unsafe atom.deallocate() }
      unsafe cue_ring_take(ring, atom.baseAddress!, head.bytes)
      let message = ParameterMessage(UnsafeRawBufferPointer(atom))
      if !message.values.isEmpty { listener.function?(message) }
    }
  }

  // MARK: Worker thread

  /// Handles what cycles left to the worker thread: work, log entries, messages and learned
  /// controllers.
  private func service() {
    work()
    drainLog()
    drainReplies()
    learner.function?()
  }

  private func startThreadIfNeeded() {
    let needs = description.requiredFeatures + description.optionalFeatures
    if unsafe worker != nil || needs.contains(LV2.log("log")) || !memory.eventOutputs.isEmpty {
      startLookingAfter()
    }
  }

  /// Starts the worker thread unless it is running.
  func startLookingAfter() {
    let isNew = thread.compareExchange(expected: 0, desired: .max, ordering: .relaxed).exchanged
    if !isNew { return }
    startThread(named: "cuejack-plugin") { [self] in
      thread.store(UInt(pthread_self()), ordering: .relaxed)
      while true {
        unsafe cue_signal_wait(signal)
        if isOver.load(ordering: .acquiring) { break }
        service()
      }
      hasEnded.signal()
    }
  }

  /// Ends the worker thread, waits for it and frees the plugin. Precondition: no cycle runs it any
  /// more.
  func end() {
    let thread = thread.load(ordering: .relaxed)
    if thread != 0 {
      isOver.store(true, ordering: .releasing)
      unsafe cue_rt_signal_post(signal)
      if thread != UInt(pthread_self()) { hasEnded.wait() }
    }
    finishWork()
    if let instance = unsafe instance { unsafe free(instance) }
    unsafe instance = nil
    unsafe worker = nil
    unsafe memory.plugin.pointee.run = nil
  }
}
