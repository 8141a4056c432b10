import CPluginRunner
import CRealTime
import FoundationEssentials
import Glibc
import Graph
import Logging
import Server
import Synchronization
import System

/// The child process of an `IsolatedPlugin`. It runs one plugin, which may crash it.
package enum PluginProcessMain {
  /// Serves the requests on standard input until the input ends or the host process is gone. File 3 is
  /// the memory shared with the host, file 4 the table of URIDs. The plugin has an empty input, and its
  /// output goes to standard error.
  ///
  /// - Parameter whenConnected: Called once standard input and output are the plugin's.
  package static func serve(whenConnected: () -> Void = {}) {
    let input = fcntl(0, F_DUPFD_CLOEXEC, 5)
    let lines = LineWriter(descriptor: fcntl(1, F_DUPFD_CLOEXEC, 5))
    guard let requests = unsafe fdopen(input, "r") else { _exit(1) }
    let nothing = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
    dup2(nothing, 0)
    close(nothing)
    dup2(2, 1)
    whenConnected()
    // Processes that the plugin starts must not inherit these.
    for file: CInt in [3, 4] { _ = fcntl(file, F_SETFD, FD_CLOEXEC) }
    // The host reports a crash, so no core file is needed.
    var none = rlimit(rlim_cur: 0, rlim_max: 0)
    unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
    URIDs.adopted.withLock { $0 = SharedFile(descriptor: 4) }
    // The host filters what it shows.
    Log.set(level: .trace) { lines.write(.log($0, $1)) }
    var next = unsafe readRequest(requests)
    // Only what comes later is confined: threads, and the code of the plugin.
    if case .instantiate(let start) = next, let confinement = start.confinement {
      let error = confinement.apply()
      if error != 0 {
        log.warning("“\(start.name)” is not confined: \(unsafe String(cString: strerror(error)))")
      }
    }
    endWithHost(at: input)
    let work = IsolatedWork(SharedFile(descriptor: 3), lines)
    while let request = next {
      if case .end = request { break }
      do throws(HostError) {
        lines.write(.reply(try work.answer(request)))
      } catch {
        lines.write(.reply(.failed(error)))
      }
      next = unsafe readRequest(requests)
    }
    work.end()
    // The plugin was freed in good order: the library's exit handlers are not needed.
    ScratchFolder.removeGiven()
    fflush(nil)
    _exit(0)
  }

  /// Waits for the next request. Returns nil at the end of the input, or if it is not one.
  private static func readRequest(_ file: UnsafeMutablePointer<FILE>) -> IsolationRequest? {
    var line: UnsafeMutablePointer<CChar>?
    defer { unsafe free(line) }
    var room = 0
    let count = unsafe getline(&line, &room, file)
    guard count > 0, let line = unsafe line else { return nil }
    let data = unsafe Data(bytes: line, count: count)
    return try? IsolationCoding.decoder.decode(IsolationRequest.self, from: data)
  }
}

/// Starts a thread that ends this process once the host closes the other end of `input`, even if a plugin
/// hangs.
func endWithHost(at input: CInt) {
  startThread(named: "cuejack-host") {
    var request = pollfd(fd: input, events: 0x2000, revents: 0)  // POLLRDHUP
    while unsafe poll(&request, 1, -1) <= 0 {}
    // Give the plugin time to be freed in good order.
    usleep(1_000_000)
    ScratchFolder.removeGiven()
    _exit(0)
  }
}

/// Writer of lines to the host. Any thread.
private final class LineWriter: Sendable {
  private let descriptor: CInt
  private let lock = Lock()

  init(descriptor: CInt) { self.descriptor = descriptor }

  func write(_ line: IsolationLine) {
    guard var bytes = try? IsolationCoding.encoder.encode(line) else { return }
    bytes.append(UInt8(ascii: "\n"))
    lock.lock()
    defer { lock.unlock() }
    unsafe bytes.withUnsafeBytes { buffer in
      var done = 0
      while done < buffer.count {
        let count = unsafe send(
          descriptor, buffer.baseAddress! + done, buffer.count - done, CInt(MSG_NOSIGNAL))
        if count < 0 && errno == EINTR { continue }
        if count <= 0 { return }
        done += count
      }
    }
  }
}

/// The plugin of this process and the real-time thread that runs it.
@safe
private final class IsolatedWork: @unchecked Sendable {
  private let file: SharedFile
  private let lines: LineWriter
  private let head: UnsafeMutablePointer<cue_shared_head>
  private let host: UnsafeMutablePointer<cue_isolated_host>
  /// Held while the plugin processes blocks, and while it must not.
  private let running = Lock()
  private var isAttached = false
  private let isOver = Atomic<Bool>(false)
  private var plugin: PluginInstance?
  private var shared: UnsafeMutableRawBufferPointer?
  private var blocks: [UnsafeMutableRawPointer] = unsafe []

  init(_ file: SharedFile, _ lines: LineWriter) {
    self.file = file
    self.lines = lines
    guard let head = unsafe file.map(bytes: IsolatedMemory.headBytes) else { _exit(1) }
    unsafe self.head = unsafe head.baseAddress!.assumingMemoryBound(to: cue_shared_head.self)
    unsafe host = .allocate(capacity: 1)
    unsafe host.initialize(to: cue_isolated_host())
  }

  deinit {
    unsafe blocks.forEach { unsafe $0.deallocate() }
    unsafe host.deallocate()
  }

  // MARK: Requests

  func answer(_ request: IsolationRequest) throws(HostError) -> IsolationReply {
    if case .instantiate(let start) = request {
      try instantiate(start)
      return .done
    }
    guard let plugin else { return .done }
    switch request {
    case .instantiate, .end: break
    case .prepare(let sampleRate, let maximumFrames):
      try alone { () throws(HostError) in
        try plugin.prepare(sampleRate: sampleRate, maximumFrames: maximumFrames)
        isAttached = false
      }
    case .attach(let shape): try attach(plugin, shape)
    case .set(let symbol, let value, let frame, let rampFrames):
      try plugin.set(symbol, to: value, at: frame, over: rampFrames)
    case .value(let symbol): return .value(try plugin.value(of: symbol))
    case .currentValue(let output):
      var value: Float = 0
      try alone { () throws(HostError) in value = try plugin.currentValue(of: output) }
      return .value(value)
    case .setParameter(let uri, let value, let frame):
      try plugin.setParameter(uri, to: value, at: frame)
    case .requestParameter(let uri): try plugin.requestParameter(uri)
    case .midi(let bytes, let frame): try plugin.send(midi: bytes, at: frame)
    case .position(let position, let frame): try plugin.send(position, at: frame)
    case .check(let target): try plugin.check(target)
    case .bindings: return .bindings(plugin.bindings)
    case .bind(let binding): try plugin.bind(binding)
    case .unbind(let name): try plugin.unbind(name)
    case .learn(let target, let passed):
      try plugin.learn(target, passing: passed) { [lines] in lines.write(.learned($0)) }
    case .learning: return .learning(plugin.learning)
    case .cancelLearning: plugin.cancelLearning()
    case .save(let folder): try plugin.save(to: folder)
    case .restore(let origin):
      let state = try read(origin, of: plugin.description.uri, in: plugin.world)
      if plugin.canRestoreWhileRunning {
        try plugin.restore(state)
      } else {
        try alone { () throws(HostError) in try plugin.restore(state) }
      }
    case .setEnabled(let on): return .enabled(plugin.setEnabled(on))
    }
    return .done
  }

  /// Calls `body` while the plugin processes no block.
  private func alone(_ body: () throws(HostError) -> Void) throws(HostError) {
    running.lock()
    defer { running.unlock() }
    try body()
  }

  private func read(_ origin: StateOrigin, of plugin: String, in world: World)
    throws(HostError) -> PluginState
  {
    switch origin {
    case .folder(let folder): try PluginState(folder: folder, world: world)
    case .preset(let uri): try world.preset(uri, of: plugin)
    }
  }

  private func instantiate(_ start: IsolatedStart) throws(HostError) {
    let world = World(path: start.path)
    var state: PluginState?
    if let origin = start.state { state = try read(origin, of: start.uri, in: world) }
    let plugin = try PluginInstance(
      start.uri, in: world, settings: start.settings, name: start.name, state: state)
    // The plugin may know its latency before it runs.
    try plugin.prepare(
      sampleRate: start.settings.sampleRate, maximumFrames: start.settings.maximumFrames)
    plugin.whenParametersChange { [lines] in lines.write(.parameters($0)) }
    self.plugin = plugin
    startThread(named: "cuejack-plugin-run") { [self] in run(priority: start.priority) }
  }

  /// Locates the buffers in the shared memory, which the host prepared for the plugin's current
  /// settings.
  private func attach(_ plugin: PluginInstance, _ numbers: [UInt32]) throws(HostError) {
    let ports = plugin.core.memory.ports
    var shape = IsolatedMemory.shape(
      ports, maximumFrames: plugin.core.settings.maximumFrames)
    let bytes = unsafe cue_shared_bytes(&shape)
    guard shape.numbers == numbers else {
      throw .notIsolated(
        plugin: plugin.description.uri, reason: "its bundle has changed meanwhile")
    }
    guard let memory = unsafe file.map(bytes: bytes, at: IsolatedMemory.headBytes) else {
      throw .notIsolated(plugin: plugin.description.uri, reason: "there is not enough memory")
    }
    try alone { () throws(HostError) in
      if let old = unsafe shared { unsafe munmap(old.baseAddress, old.count) }
      unsafe shared = unsafe memory
      unsafe lockIntoMemory(UnsafeRawBufferPointer(memory))
      unsafe blocks.forEach { unsafe $0.deallocate() }
      unsafe blocks = unsafe []
      unsafe cue_shared_find(&host.pointee.shared, &shape, head, memory.baseAddress!)
      unsafe host.pointee.plugin = unsafe plugin.core.memory.plugin
      let frames = Int(shape.maximum_frames)
      let floats = MemoryLayout<Float>.stride * frames
      unsafe host.pointee.inputs = unsafe UnsafePointer(
        pointers(ports.inputs.count, bytes: floats, as: UnsafePointer<Float>?.self))
      unsafe host.pointee.outputs = unsafe UnsafePointer(
        pointers(ports.outputs.count, bytes: floats, as: UnsafeMutablePointer<Float>?.self))
      unsafe host.pointee.event_inputs = unsafe UnsafePointer(
        pointers(
          ports.eventInputs.count + 1, bytes: ports.eventBytes,
          as: UnsafeMutableRawPointer?.self))
      unsafe host.pointee.event_outputs = unsafe UnsafePointer(
        pointers(
          ports.eventOutputs.count, bytes: ports.eventBytes, as: UnsafeMutableRawPointer?.self))
      unsafe host.pointee.told = unsafe allocate(4 * ports.eventOutputs.count)
        .assumingMemoryBound(to: UInt32.self)
      unsafe host.pointee.event = unsafe allocate(ports.eventBytes)
      unsafe cue_isolated_host_show(host)
      isAttached = true
    }
  }

  /// Allocates an array of pointers, each to a buffer of `bytes` bytes.
  private func pointers<Pointer>(_ count: Int, bytes: Int, as type: Pointer.Type)
    -> UnsafeMutablePointer<Pointer>
  {
    let array = unsafe allocate(count * MemoryLayout<UnsafeMutableRawPointer>.stride)
    for i in 0..<count {
      unsafe array.storeBytes(
        of: allocate(bytes), toByteOffset: i * MemoryLayout<UnsafeMutableRawPointer>.stride,
        as: UnsafeMutableRawPointer.self)
    }
    return unsafe array.assumingMemoryBound(to: type)
  }

  /// Allocates zeroed bytes and locks them in memory.
  private func allocate(_ bytes: Int) -> UnsafeMutableRawPointer {
    let block = UnsafeMutableRawPointer.allocate(byteCount: max(8, bytes), alignment: 64)
    unsafe memset(block, 0, max(8, bytes))
    unsafe lockIntoMemory(UnsafeRawBufferPointer(start: block, count: max(8, bytes)))
    unsafe blocks.append(block)
    return unsafe block
  }

  // MARK: The thread

  /// Processes blocks as they arrive.
  private func run(priority: Int?) {
    if let priority { runInRealTime(priority: priority) }
    while true {
      unsafe cue_shared_signal_wait(head.pointer(to: \.is_given)!, UInt32(Int32.max))
      if isOver.load(ordering: .acquiring) { break }
      running.lock()
      while isAttached, unsafe cue_isolated_host_run(host) {}
      running.unlock()
    }
  }

  /// Frees the plugin. No block arrives any more.
  func end() {
    running.lock()
    isAttached = false
    isOver.store(true, ordering: .releasing)
    running.unlock()
    unsafe cue_shared_signal_post(head.pointer(to: \.is_given)!)
    plugin = nil
  }
}
